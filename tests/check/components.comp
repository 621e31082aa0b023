// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Four invocations write a component each of one vector.
shared uvec4 s[16];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
#if FAULT
    s[l / 4] = uvec4(a[g]);
#else
    s[l / 4][l % 4] = a[g];
#endif
    barrier();
    b[g] = s[15 - l / 4][l % 4];
}
