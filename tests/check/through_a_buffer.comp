// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) coherent buffer B { uint b[]; };
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    b[g] = a[g];
#if !FAULT
    memoryBarrierBuffer();
    barrier();
#endif
    if (l < 32) b[g + 256] = b[g ^ 1];
}
