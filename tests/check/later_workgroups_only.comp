// expects: race — the last workgroup skips the barrier (all of its lanes do), the first three do not
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    s[lid] = x;
#if FAULT
    if (gl_WorkGroupID.x < 3u) barrier();
#else
    barrier();
#endif
    b[gid] = s[lid ^ 1u];
}
