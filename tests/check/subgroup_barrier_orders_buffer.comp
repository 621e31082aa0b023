// expects: race — a subgroup fence on buffers makes nobody wait; subgroupBarrier() waits and covers buffers
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) coherent buffer B { uint b[]; };


void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uint slot = gl_WorkGroupID.x * 64u + gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    bool odd = (gl_SubgroupInvocationID & 1u) != 0u;
    if (!odd) b[slot] = x;
#if FAULT
    subgroupMemoryBarrierBuffer();
#else
    subgroupBarrier();
#endif
    if (odd) b[slot] = b[slot - 1u] + 1u;
}
