// expects: not-coherent
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
#if FAULT
layout(binding = 1) buffer B { uint b[]; };
#else
layout(binding = 1) coherent buffer B { uint b[]; };
#endif
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x, first = g - l;
    b[g] = a[g];
    memoryBarrierBuffer();
    barrier();
    b[256 + g] = b[first + 63 - l];
}
