// expects: exited
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// A workgroup may end as a whole.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    uint ends = FAULT == 1 ? g : gl_WorkGroupID.x * 64;
    if (ends >= 200) return;
    s[l] = a[g];
    barrier();
    b[g] = s[l];
}
