// expects: exited left-out
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = a[g];
#if FAULT
    if (l > 56) return;
    if (l > 8) barrier();
#else
    barrier();
#endif
    b[g] = s[l];
}
