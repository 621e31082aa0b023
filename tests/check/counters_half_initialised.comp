// expects: uninitialised — lanes 32 to 63 add atomically to counters nobody initialised, and read them afterwards
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint count[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid < 32u) count[lid] = 0u;
    barrier();
#if FAULT
    uint k = lid;
#else
    uint k = lid & 31u;
#endif
    atomicAdd(count[k], x);
    barrier();
    b[gid] = count[k];
}
