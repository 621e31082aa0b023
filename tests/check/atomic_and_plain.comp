// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint sum;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) sum = 0;
    barrier();
    atomicAdd(sum, a[g] & 7);
#if !FAULT
    barrier();
#endif
    b[g] = sum;
}
