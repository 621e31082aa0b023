#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// Values that an invocation needs from the first iteration to the last.
layout(constant_id = 3) const uint LIVE_VALUES = 8;
layout(constant_id = 4) const uint ITERATIONS = 1;

// Odd and constant, but no compiler can know: nor can it make several iterations one.
layout(push_constant) uniform Push {
    uint factor;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };

void main() {
    const uint self = gl_LocalInvocationID.x;
    // All loops over the values unroll, so that each of them is a variable of its own.
    uint values[LIVE_VALUES];
    [[unroll]] for (uint k = 0u; k < LIVE_VALUES; ++k) {
        values[k] = (self + k) * 2654435761u;
    }
    [[dont_unroll]] for (uint iteration = 0u; iteration < ITERATIONS; ++iteration) {
        // Each value needs its neighbour as the last iteration left it: no order of the work needs fewer values at a time.
        [[unroll]] for (uint k = 0u; k < LIVE_VALUES; ++k) {
            values[k] = values[k] * factor + values[(k + 1u) % LIVE_VALUES];
        }
    }
    uint result = linear_group();
    [[unroll]] for (uint k = 0u; k < LIVE_VALUES; ++k) {
        result = 3u * result + values[k];
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = result;
}
