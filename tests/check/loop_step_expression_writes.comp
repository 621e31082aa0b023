// expects: race — the step expression of the loop stores the own slot while the neighbour still reads it
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uint acc = 0u;
    s[lid] = x;
    for (uint i = 0u; i < 3u; s[lid] = acc + i, ++i) {
        barrier();
        acc += s[(lid + 1u) & 63u];
#if !FAULT
        barrier();
#endif
    }
    b[gid] = acc;
}
