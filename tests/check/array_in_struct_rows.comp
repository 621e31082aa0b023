// expects: race — two lanes store into the same element of the array inside a struct
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
struct Row { uint tag; uint d[4]; };
shared Row rows[16];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if ((lid & 3u) == 0u) rows[lid >> 2].tag = x;
#if FAULT
    rows[lid >> 2].d[(lid & 3u) >> 1] = x;
#else
    rows[lid >> 2].d[lid & 3u] = x;
#endif
    barrier();
    b[gid] = rows[lid >> 2].tag + rows[15u - (lid >> 2)].d[(lid & 3u) >> 1];
}
