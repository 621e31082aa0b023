// expects: race — a plain read of the counter is not ordered with the atomic adds of the other lanes
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint count;

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid == 0u) count = 0u;
    barrier();
    atomicAdd(count, 1u);
#if FAULT
    uint seen = count;
#else
    uint seen = atomicOr(count, 0u);
#endif
    b[gid] = x + uint(seen >= 1u);
}
