#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort.glsl"

// `onesweep`: how many keys have each digit, of all four digits at once. Each digit's count is the same whatever order the keys are in,
// so that one look at the source does for all passes.

// Copies of each counter, which neighbouring invocations share out: keys that are alike don't all wait for the same one.
layout(constant_id = 4) const uint COPIES = 4;
// Tiles that a workgroup counts before it adds to what all count in.
layout(constant_id = 5) const uint TILES_EACH = 16;

const uint BITS = 8u;
const uint DIGITS = 1u << BITS;
const uint PASSES = 32u / BITS;

layout(set = 0, binding = 0) restrict buffer Histogram { uint histogram[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };

shared uint counters[PASSES * DIGITS * COPIES];

void count(uint key) {
    const uint copy = gl_LocalInvocationID.x % COPIES;
    [[unroll]] for (uint pass = 0u; pass < PASSES; ++pass) {
        const uint digit = (key >> (pass * BITS)) & (DIGITS - 1u);
        atomicAdd(counters[(pass * DIGITS + digit) * COPIES + copy], 1u);
    }
}

void count_tile(uint tile) {
    const uint self = gl_LocalInvocationID.x;
    const uint extent = extent_of(tile);
    const uint first = tile * TILE + self;
    uint keys[ITEMS];
    if (extent == TILE) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            keys[k] = source[first + k * gl_WorkGroupSize.x];
        }
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            count(keys[k]);
        }
    } else {
        for (uint slot = self; slot < extent; slot += gl_WorkGroupSize.x) {
            count(source[tile * TILE + slot]);
        }
    }
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    for (uint i = self; i < PASSES * DIGITS * COPIES; i += gl_WorkGroupSize.x) {
        counters[i] = 0u;
    }
    barrier();
    const uint begin = linear_group() * TILES_EACH;
    [[dont_unroll]] for (uint tile = begin; tile < min(begin + TILES_EACH, tiles); ++tile) {
        count_tile(tile);
    }
    barrier();
    for (uint i = self; i < PASSES * DIGITS; i += gl_WorkGroupSize.x) {
        uint sum = 0u;
        for (uint copy = 0u; copy < COPIES; ++copy) {
            sum += counters[i * COPIES + copy];
        }
        if (sum > 0u) {
            atomicAdd(histogram[i], sum);
        }
    }
}
