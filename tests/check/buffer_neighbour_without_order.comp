// expects: race — reads the neighbour's element of the storage buffer with no order to its stores
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };


void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    b[gid] = x;
#if FAULT
    uint r = b[gid ^ 1u];
#else
    uint r = b[gid];
#endif
    b[gid] = r + 1u;
}
