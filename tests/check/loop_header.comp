// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// What the loop's condition reads is written in its body.
shared uint left;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) left = 3;
    barrier();
    for (uint i = 0; i < 3 + (left >> 31); ++i) {
        barrier();
        if (l == 0) left = i + 7;
#if !FAULT
        barrier();
#endif
    }
    b[g] = a[g];
}
