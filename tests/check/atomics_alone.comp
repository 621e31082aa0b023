// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// An atomic read isn't at odds with atomic additions; a plain one is.
shared uint sum;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) sum = 0;
    barrier();
    atomicAdd(sum, 1);
#if FAULT
    uint seen = sum;
#else
    uint seen = atomicOr(sum, 0);
#endif
    b[g] = seen > 64 ? 1 : 0;
}
