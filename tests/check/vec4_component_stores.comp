// expects: race — four lanes store the whole vec4 where each should store its own component
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared vec4 v[16];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
#if FAULT
    v[lid >> 2] = vec4(float(x));
#else
    v[lid >> 2][lid & 3u] = float(x);
#endif
    barrier();
    b[gid] = uint(v[lid >> 2][3u - (lid & 3u)]);
}
