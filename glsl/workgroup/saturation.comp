#version 450
#include "local_size.glsl"
#include "grid.glsl"
#include "stepped.glsl"

// Of an item.
layout(constant_id = 3) const uint STEPS = 1;

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };

void main() {
    const uint self = gl_LocalInvocationID.x;
    uint x = self + 1u;
    for (uint k = 0u; k < STEPS; ++k) {
        x = stepped(x);
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = x + linear_group();
}
