// expects: exited
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = 0;
#if FAULT
    if (a[g] % 3 == 0 && l > 40) return;
#endif
    barrier();
    b[g] = s[l];
}
