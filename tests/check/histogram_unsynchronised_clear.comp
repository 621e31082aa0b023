// expects: race — the plain clear of a bin is not ordered with the atomic adds of other lanes to it
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint h[16];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid < 16u) h[lid] = 0u;
#if !FAULT
    barrier();
#endif
    atomicAdd(h[(lid + 1u) & 15u], x & 15u);
    barrier();
    b[gid] = h[lid & 15u];
}
