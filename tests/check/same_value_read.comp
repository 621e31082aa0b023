// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// All store the same, but who reads meanwhile may see either.
shared uint any_of;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) any_of = 0;
    barrier();
    if (l < 2) atomicOr(any_of, 1);
#if FAULT
    if (l == 9) b[g] = any_of;
#else
    if (l == 9) b[g] = atomicOr(any_of, 0);
#endif
}
