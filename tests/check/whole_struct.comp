// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
struct Three { uint x; uvec2 y; };
shared Three s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = Three(a[g], uvec2(g, l));
#if !FAULT
    barrier();
#endif
    Three other = s[(l + 1) & 63];
    b[g] = other.x + other.y.x + other.y.y;
}
