// expects: bounds — the last invocation reads element length() of a buffer
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };


void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
#if FAULT
    uint last = uint(a.length());
#else
    uint last = uint(a.length()) - 1u;
#endif
    uint i = (gid == 255u) ? last : gid;
    b[gid] = x + a[i];
}
