// expects: left-out
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s[64];
void wait_for_all(uint l) {
#if FAULT
    if (l > 40) return;
#endif
    barrier();
}
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = a[g];
    wait_for_all(l);
    b[g] = s[l];
}
