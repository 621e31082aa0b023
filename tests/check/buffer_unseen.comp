// expects: memory
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) coherent buffer B { uint b[]; };
// barrier() alone orders shared memory.
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    b[g] = a[g];
#if !FAULT
    memoryBarrierBuffer();
#endif
    barrier();
    if (l < 32) b[g + 256] = b[g ^ 1];
}
