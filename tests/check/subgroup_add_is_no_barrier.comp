// expects: race — a subgroup reduction orders no memory accesses, so the neighbour lane's slot is read in a race; the shuffle touches no memory
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    s[lid] = x;
    uint t = subgroupAdd(x);
#if FAULT
    uint r = s[lid ^ 1u];
#else
    uint r = subgroupShuffleXor(x, 1u);
#endif
    b[gid] = t + r;
}
