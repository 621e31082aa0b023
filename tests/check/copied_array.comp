// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// A whole array is copied at once.
shared uint s[4];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l < 4) s[l] = a[g];
#if !FAULT
    barrier();
#endif
    uint own[4] = s;
    b[g] = own[0] + own[1] + own[2] + own[3];
}
