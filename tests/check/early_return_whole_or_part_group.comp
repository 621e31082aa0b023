// expects: exited — lanes 48 to 63 return before the barrier that the others reach (may hang); a return of whole workgroups, or after the last barrier, is right
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
#if FAULT
    if (lid >= 48u) return;
#else
    if (gl_WorkGroupID.x >= 3u) return;
#endif
    s[lid] = x;
    barrier();
    if (lid >= 60u) return;
    b[gid] = s[lid ^ 1u];
}
