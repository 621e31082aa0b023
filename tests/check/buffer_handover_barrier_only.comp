// expects: memory — barrier() alone orders shared memory, not the buffer through which the halves hand over
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) coherent buffer B { uint b[]; };


void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid < 32u) b[gid] = x;
#if FAULT
    barrier();
#else
    memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
#endif
    if (lid >= 32u) b[gid] = b[gid - 32u] + 1u;
}
