// expects: exited
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];
void all() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = a[g];
#if FAULT
    if (l > 40) return;
#endif
    barrier();
    b[g] = s[l];
}
void main() {
    all();
}
