// expects: barrier — the number of trips, each with a barrier, differs between lanes (may hang); by workgroup it is uniform
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
    uint r = 0u;
#if FAULT
    uint trips = (lid & 1u) + 1u;
#else
    uint trips = gl_WorkGroupID.x + 1u;
#endif
    for (uint i = 0u; i < trips; ++i) {
        r += s[(lid + i) & 63u];
        barrier();
    }
    barrier();
    b[gid] = r;
}
