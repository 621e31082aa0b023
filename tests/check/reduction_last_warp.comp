// expects: race — the last steps rely on 32 lanes running in step, which orders nothing
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
    for (uint st = 32u; st > 0u; st >>= 1) {
        if (lid < st) s[lid] += s[lid + st];
#if FAULT
        if (st > 16u) barrier();
#else
        barrier();
#endif
    }
    if (lid == 0u) b[gid] = s[0];
}
