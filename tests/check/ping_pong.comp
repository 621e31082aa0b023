// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// The second trip overwrites what others still read.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    uint sum = 0;
    for (uint i = 0; i < 3; ++i) {
        s[l] = a[g] + i;
        barrier();
        sum += s[63 - l];
#if !FAULT
        barrier();
#endif
    }
    b[g] = sum;
}
