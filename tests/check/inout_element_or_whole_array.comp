// expects: race — an inout array parameter is copied in and out as a whole, so every lane reads and writes every element
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];
void bump_one(inout uint e) { e = e * 3u + 1u; }
void bump_all(inout uint t[64], uint i) { t[i] = t[i] * 3u + 1u; }
uint mirrored(uint i) { return s[63u - i]; }

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    s[lid] = x;
    barrier();
#if FAULT
    bump_all(s, lid);
#else
    bump_one(s[lid]);
#endif
    barrier();
    b[gid] = mirrored(lid);
}
