// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
struct Two { uint one; uint other; };
shared Two s[32];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l < 32) s[l].one = a[g];
#if FAULT
    else s[l - 32].one = a[g];
#else
    else s[l - 32].other = a[g];
#endif
    barrier();
    b[g] = s[l & 31].one;
}
