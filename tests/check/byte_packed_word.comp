// expects: race — four lanes read, change and write the word that holds their bytes
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint w[16];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid < 16u) w[lid] = 0u;
    barrier();
#if FAULT
    w[lid >> 2] |= (x & 255u) << (8u * (lid & 3u));
#else
    atomicOr(w[lid >> 2], (x & 255u) << (8u * (lid & 3u)));
#endif
    barrier();
    b[gid] = w[15u - (lid >> 2)];
}
