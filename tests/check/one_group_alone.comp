// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Only the last workgroup skips the barrier.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = a[g];
    if (gl_WorkGroupID.x < 4 - FAULT) barrier();
    b[g] = s[63 - l];
}
