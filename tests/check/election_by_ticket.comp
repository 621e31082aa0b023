// expects: race — two tickets win, so two lanes store their numbers into one slot
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint ticket;
shared uint winner;

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid == 0u) ticket = 0u;
    barrier();
#if FAULT
    if (atomicAdd(ticket, 1u) < 2u) winner = x;
#else
    if (atomicAdd(ticket, 1u) < 1u) winner = x;
#endif
    barrier();
    b[gid] = winner;
}
