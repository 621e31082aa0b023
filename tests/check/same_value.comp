// expects: same-value
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint any_of;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) any_of = 0;
    barrier();
#if FAULT
    if ((a[g] & 1) == l % 2) any_of = 1;
#else
    if (l == 5) any_of = 1;
#endif
    barrier();
    b[g] = any_of;
}
