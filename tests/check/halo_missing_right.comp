// expects: uninitialised — nobody stores the right halo cell that lane 63 adds
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[66];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    s[lid + 1u] = x;
    if (lid == 0u) s[0] = 0u;
#if !FAULT
    if (lid == 63u) s[65] = 0u;
#endif
    barrier();
    b[gid] = s[lid] + s[lid + 1u] + s[lid + 2u];
}
