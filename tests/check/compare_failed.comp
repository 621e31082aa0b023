// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// A comparison that fails writes nothing.
shared uint word;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) word = 7;
    barrier();
    uint was = l == 0 ? atomicCompSwap(word, FAULT == 1 ? 7 : 1, a[g] + 8) : word;
    b[g] = was;
}
