#version 450
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ITEMS = 4;
layout(binding = 0) buffer In { uint values[]; };
layout(binding = 1) buffer Sum { uint total; };
shared uint partial[1024];
void main() {
    uint sum = 0;
    uint base = gl_WorkGroupID.x * gl_WorkGroupSize.x * ITEMS;
    for (uint k = 0; k < ITEMS; k++) {
        uint i = base + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (i < values.length()) sum += values[i];
    }
    partial[gl_LocalInvocationID.x] = sum;
    barrier();
    if (gl_LocalInvocationID.x == 0) {
        uint all = 0;
        for (uint k = 0; k < gl_WorkGroupSize.x; k++) all += partial[k];
        atomicAdd(total, all);
    }
}
