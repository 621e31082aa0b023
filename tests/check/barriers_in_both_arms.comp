// expects: barrier — both arms have one barrier each, but they are two different barriers and the lanes are divided (may hang)
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uint r;
    s[lid] = x;
    barrier();
#if FAULT
    if (lid < 32u) {
#else
    if (gl_WorkGroupID.x < 2u) {
#endif
        r = s[lid ^ 1u];
        barrier();
    } else {
        barrier();
        r = s[63u - lid] + 1u;
    }
    b[gid] = r;
}
