// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Two words at once, of which others use one.
shared uvec2 s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = uvec2(a[g], g);
#if !FAULT
    barrier();
#endif
    b[g] = s[63 - l].y;
}
