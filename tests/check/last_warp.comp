// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Lanes of a subgroup don't run in step for all that.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    s[l] = a[g];
    barrier();
    for (uint step_ = 32; step_ > 0; step_ /= 2) {
        if (l < step_) s[l] += s[l + step_];
#if FAULT
        if (step_ > 4)
#endif
        barrier();
    }
    if (l == 0) b[g] = s[0];
}
