// expects: race — stores go into the half that the neighbours are reading; into the other half, one barrier a trip is enough
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[2][64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    s[0][lid] = x;
    s[1][lid] = x + 1u;
    barrier();
    uint cur = 0u;
    for (uint i = 0u; i < 5u; ++i) {
        uint v = s[cur][(lid + 1u) & 63u] + s[cur][(lid + 63u) & 63u];
#if FAULT
        s[cur][lid] = v;
#else
        s[cur ^ 1u][lid] = v;
#endif
        barrier();
        cur ^= 1u;
    }
    b[gid] = s[cur][lid];
}
