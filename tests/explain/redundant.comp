#version 450
// Each subgroup of a workgroup loads all that the others load as well.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
shared float kept[256];
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x, start = gl_WorkGroupID.x * 256u;
    float sum = 0.0;
#ifdef MENDED
    kept[l] = a[start + l];
    barrier();
    for (uint k = 0u; k < 256u; k++) sum += kept[(l + k) % 256u];
#else
    for (uint k = 0u; k < 256u; k++) {
        sum += a[start + (l + k) % 256u]; // FAULT
    }
#endif
    b[i] = sum;
}
