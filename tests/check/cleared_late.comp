// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint bins[16];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l < 16) bins[l] = 0;
#if !FAULT
    barrier();
#endif
    atomicAdd(bins[a[g] & 15], 1);
    barrier();
    b[g] = bins[l & 15];
}
