#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort_exchange.glsl"

// `bitonic`: one step whose pairs lie farther apart than a tile, in the target itself.

// Pairs of an invocation.
layout(constant_id = 3) const uint PAIRS = 8;

// Keys, and the step: half of a block, and the bits in which the places of a pair differ.
layout(push_constant) uniform Push {
    uint n;
    uint half_block;
    uint mask;
};

layout(set = 0, binding = 0) restrict buffer Target { uint target[]; };
// PAYLOAD is a macro: values are resources of their own.
#ifdef PAYLOAD
layout(set = 0, binding = 1) restrict buffer TargetValues { uint target_values[]; };
#endif

void main() {
    const uint pair = linear_group() * gl_WorkGroupSize.x * PAIRS + gl_LocalInvocationID.x;
    uint first[PAIRS];
    [[unroll]] for (uint k = 0u; k < PAIRS; ++k) {
        first[k] = first_of_pair(pair + k * gl_WorkGroupSize.x, half_block);
    }
    uint one[PAIRS];
    uint other[PAIRS];
    [[unroll]] for (uint k = 0u; k < PAIRS; ++k) {
        // A pair that isn't there is in order.
        const bool is_there = (first[k] ^ mask) < n;
        one[k] = is_there ? target[first[k]] : 0u;
        other[k] = is_there ? target[first[k] ^ mask] : 0u;
    }
#ifdef PAYLOAD
    uint one_value[PAIRS];
    uint other_value[PAIRS];
    [[unroll]] for (uint k = 0u; k < PAIRS; ++k) {
        const bool is_there = one[k] > other[k];
        one_value[k] = is_there ? target_values[first[k]] : 0u;
        other_value[k] = is_there ? target_values[first[k] ^ mask] : 0u;
    }
#endif
    [[unroll]] for (uint k = 0u; k < PAIRS; ++k) {
        if (one[k] > other[k]) {
            target[first[k]] = other[k];
            target[first[k] ^ mask] = one[k];
#ifdef PAYLOAD
            target_values[first[k]] = other_value[k];
            target_values[first[k] ^ mask] = one_value[k];
#endif
        }
    }
}
