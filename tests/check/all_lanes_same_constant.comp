// expects: same-value — all lanes store the same constant without order and all reads come after a barrier
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint found;

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid == 0u) found = 0u;
    barrier();
#if FAULT
    found = 1u;
#else
    if (lid == 17u) found = 1u;
#endif
    barrier();
    b[gid] = x + found;
}
