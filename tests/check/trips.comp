// expects: barrier
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// All come to the barrier as often, or only nearly.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = a[g];
    uint trips = FAULT == 1 ? 2 + l / 32 : 2 + gl_WorkGroupID.x;
    for (uint i = 0; i < trips; ++i) barrier();
    for (uint i = trips; i < 4; ++i) barrier();
    b[g] = s[l];
}
