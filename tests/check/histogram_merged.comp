// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint bins[2][16];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l < 32) bins[l / 16][l % 16] = 0;
    barrier();
    atomicAdd(bins[l / 32][a[g] & 15], 1);
#if !FAULT
    barrier();
#endif
    if (l < 16) b[g] = bins[0][l] + bins[1][l];
}
