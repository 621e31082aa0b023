// expects: uninitialised
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// What is read before it is written matters only where something depends on it.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    uint old = s[l];
    s[l] = a[g];
    barrier();
#if FAULT
    b[g] = s[63 - l] + old;
#else
    b[g] = s[63 - l];
#endif
}
