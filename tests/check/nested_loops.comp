// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Written in the outer loop, read in the inner one.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    uint sum = 0;
    for (uint i = 0; i < 2; ++i) {
        s[l] = a[g] * i;
        barrier();
        for (uint k = 0; k < 3; ++k) sum += s[(l + k) & 63];
#if !FAULT
        barrier();
#endif
    }
    b[g] = sum;
}
