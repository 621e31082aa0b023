// expects: race — subgroupBarrier() orders lanes of one subgroup only; slot ^ 32 is another subgroup's for 4, 8 and 32 lanes
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uint slot = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    s[slot] = x;
    subgroupBarrier();
#if FAULT
    b[gid] = s[slot ^ 32u];
#else
    b[gid] = s[slot ^ 1u];
#endif
}
