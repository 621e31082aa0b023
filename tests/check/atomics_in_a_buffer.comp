// expects: memory
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) coherent buffer B { uint b[]; };
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    atomicAdd(b[256 + gl_WorkGroupID.x], a[g]);
#if !FAULT
    memoryBarrierBuffer();
#endif
    barrier();
    b[g] = b[256 + gl_WorkGroupID.x];
}
