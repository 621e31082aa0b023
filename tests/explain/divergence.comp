#version 450
// How often a lane loops differs from its neighbour's.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifdef MENDED
    uint count = gl_WorkGroupID.x % 64u;
#else
    uint count = (i % 4u) * 20u;
#endif
    float sum = 0.0;
    for (uint k = 0u; k < count; k++) {
        sum += a[(i & ~255u) + (i + k) % 256u]; // FAULT
    }
    b[i] = sum;
}
