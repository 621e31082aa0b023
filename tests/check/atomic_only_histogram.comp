// expects: race — a plain increment is a load and a store that lanes of the same bin do without order
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint h[8];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid < 8u) h[lid] = 0u;
    barrier();
#if FAULT
    h[lid & 7u] += 1u;
#else
    atomicAdd(h[lid & 7u], 1u);
#endif
    barrier();
    b[gid] = x + h[7u - (lid & 7u)];
}
