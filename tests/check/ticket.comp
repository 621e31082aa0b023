// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// The last one that takes a ticket sees what all others wrote before theirs.
shared uint tickets;
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) tickets = 0;
    barrier();
    s[l] = a[g];
#if !FAULT
    memoryBarrierShared();
#endif
    uint ticket = atomicAdd(tickets, 1);
    memoryBarrierShared();
    if (ticket == 63) {
        uint sum = 0;
        for (uint i = 0; i < 64; ++i) sum += s[i];
        b[g] = sum;
    }
}
