#version 450
// A sum goes round a workgroup, one step between two barriers.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
shared float t[2][256];
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    t[0][l] = a[i];
    barrier();
#ifdef MENDED
    float sum = 0.0;
    for (uint k = 0u; k < 64u; k++) sum += t[0][(l + k) % 256u];
    b[i] = sum;
#else
    float sum = 0.0;
    for (uint k = 0u; k < 64u; k++) {
        uint from = k % 2u;
        sum += t[from][l];
        t[1u - from][l] = t[from][(l + 1u) % 256u];
        barrier(); // FAULT
    }
    b[i] = sum;
#endif
}
