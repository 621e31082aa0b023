// expects: barrier — even lanes wait at the barrier in the arm, odd ones at the barrier after it (may hang); by workgroup it is uniform
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
    barrier();
    uint r = s[lid ^ 1u];
#if FAULT
    if ((lid & 1u) == 0u) {
#else
    if ((gl_WorkGroupID.x & 1u) == 0u) {
#endif
        r *= 3u;
        barrier();
    }
    barrier();
    b[gid] = r + s[63u - lid];
}
