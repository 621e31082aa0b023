// expects: race — without the second barrier the store of trip two meets the neighbour's read of trip one
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uint v = x;
    for (uint i = 0u; i < 2u; ++i) {
        s[lid] = v;
        barrier();
        v += s[(lid + 1u) & 63u];
#if !FAULT
        barrier();
#endif
    }
    b[gid] = v;
}
