#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "scan.glsl"

// Words of an invocation, which lie a workgroup apart.
layout(constant_id = 3) const uint ITEMS = 16;

const uint TILE = ITEMS * gl_WorkGroupSize.x;

layout(set = 0, binding = 0) restrict buffer Target { uint target_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer Sums { uint sums[]; };

// Adds the sum of all tiles before it to each word of a tile.
void main() {
    const uint tile = linear_group();
    const uint first = tile * TILE + gl_LocalInvocationID.x;
    if (tile < size / TILE) {
        const uint before = sums[tile];
        uint held[ITEMS];
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            held[k] = target_words[first + k * gl_WorkGroupSize.x];
        }
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            target_words[first + k * gl_WorkGroupSize.x] = held[k] + before;
        }
    } else if (first < size) {
        const uint before = sums[tile];
        for (uint at = first; at < size; at += gl_WorkGroupSize.x) {
            target_words[at] += before;
        }
    }
}
