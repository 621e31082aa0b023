// expects: barrier — the condition mixes the lane number into the uniform value, so only half of the lanes enter the arm with the barrier (may hang)
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];
shared uint go;

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    s[lid] = x;
    if (lid == 0u) go = a[gid] >> 7;
    barrier();
#if FAULT
    if (((go ^ lid) & 1u) != 0u) {
#else
    if ((go & 1u) != 0u) {
#endif
        uint r = s[lid ^ 1u];
        barrier();
        s[lid] = r;
    }
    barrier();
    b[gid] = s[lid];
}
