// expects: race — no barrier between reading the slot d to the left and adding to the own slot
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
    for (uint d = 1u; d < 64u; d <<= 1) {
        uint t = 0u;
        if (lid >= d) t = s[lid - d];
#if !FAULT
        barrier();
#endif
        s[lid] += t;
        barrier();
    }
    b[gid] = s[lid];
}
