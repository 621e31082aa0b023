#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "argmax_keys.glsl"

// A key of each workgroup.
layout(set = 0, binding = 0) restrict writeonly buffer Results { uvec2 results[]; };

const uint SIZE = gl_WorkGroupSize.x;

shared uvec2 keys[SIZE];

void main() {
    const uint own = gl_LocalInvocationID.x;
    keys[own] = own_key();
    barrier();
    // In each step, the lower half compares what it has with what the upper half has.
    for (uint half_size = SIZE > 1u ? 1u << findMSB(SIZE - 1u) : 0u; half_size > 0u; half_size /= 2u) {
        if (own < half_size && own + half_size < SIZE) {
            keys[own] = larger(keys[own], keys[own + half_size]);
        }
        barrier();
    }
    if (own == 0u) {
        results[linear_group()] = keys[0];
    }
}
