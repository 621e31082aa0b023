// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint s;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
#if FAULT
    if (l < 2) s = l;
#else
    if (l < 1) s = l;
#endif
    barrier();
    b[g] = s;
}
