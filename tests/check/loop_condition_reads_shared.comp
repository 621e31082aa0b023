// expects: race — the loop condition reads the limit while lane 63, already through its loop, overwrites it
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint limit;

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid == 0u) limit = (x & 3u) + 2u;
    barrier();
    uint acc = 0u;
    for (uint i = 0u; i < limit; ++i)
        acc += a[(gid + i) & 255u];
#if !FAULT
    barrier();
#endif
    if (lid == 63u) limit = 7u;
    barrier();
    b[gid] = acc + limit;
}
