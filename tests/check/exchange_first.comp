// expects: uninitialised
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// What an exchange reads is thrown away: it clears.
shared uint count;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
#if !FAULT
    if (l == 0) atomicExchange(count, 0);
#endif
    barrier();
    atomicAdd(count, a[g] & 1);
    barrier();
    b[g] = count;
}
