// expects: race — copying the whole struct loads member hi, which its owner is storing at that time; member lo alone is not in dispute
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
struct P { uint lo; uint hi; };
shared P p[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    p[lid].lo = x;
    p[lid].hi = x + 1u;
    barrier();
    p[lid].hi = x * 3u + 2u;
#if FAULT
    P q = p[lid ^ 1u]; uint r = q.lo;
#else
    uint r = p[lid ^ 1u].lo;
#endif
    barrier();
    b[gid] = r + p[63u - lid].hi;
}
