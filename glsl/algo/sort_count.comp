#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort.glsl"

// How many keys of each tile have each digit. A digit's counts of all tiles lie side by side: summed up in that order, they tell
// where each tile's keys of that digit go.

// Bits of a digit.
layout(constant_id = 4) const uint BITS = 8;
const uint DIGITS = 1u << BITS;

layout(set = 0, binding = 0) restrict writeonly buffer Counts { uint counts[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };

shared uint counts_of_tile[DIGITS];

uint digit_of(uint key) {
    return (key >> shift) & (DIGITS - 1u);
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    const uint tile = linear_group();
    if (tile >= tiles) {
        return;
    }
    const uint extent = extent_of(tile);
    const uint first = tile * TILE + self;
    uint keys[ITEMS];
    if (extent == TILE) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            keys[k] = source[first + k * gl_WorkGroupSize.x];
        }
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            const uint slot = self + k * gl_WorkGroupSize.x;
            keys[k] = slot < extent ? source[first + k * gl_WorkGroupSize.x] : 0u;
        }
    }
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        counts_of_tile[digit] = 0u;
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        if (self + k * gl_WorkGroupSize.x < extent) {
            atomicAdd(counts_of_tile[digit_of(keys[k])], 1u);
        }
    }
    barrier();
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        counts[digit * tiles + tile] = counts_of_tile[digit];
    }
}
