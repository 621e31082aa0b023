#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort.glsl"
#include "sort_sum.glsl"

// `radix`: each invocation counts the digits of its own neighbouring keys in its own counters, one after the other, so that keys with
// the same digit stay in order. The counters of all, summed up digit by digit, tell where each key goes, and it goes there at once.

// Bits of a digit.
layout(constant_id = 4) const uint BITS = 4;
const uint DIGITS = 1u << BITS;

layout(set = 0, binding = 0) restrict writeonly buffer Target { uint target[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };
// PAYLOAD is a macro: values are resources of their own.
#ifdef PAYLOAD
layout(set = 0, binding = 2) restrict writeonly buffer TargetValues { uint target_values[]; };
layout(set = 0, binding = 3) restrict readonly buffer SourceValues { uint source_values[]; };
#endif
// For each digit, how many keys of the tiles before this one have it; and how many of all.
layout(set = 0, binding = 4) restrict readonly buffer Before { uint before[]; };
layout(set = 0, binding = 5) restrict readonly buffer Totals { uint totals[]; };

// For each digit a counter for each invocation.
shared uint counters[DIGITS * gl_WorkGroupSize.x];
// What leads from a key's place in the sorted tile to its place in the target, for each digit.
shared uint offsets[DIGITS];

uint digit_of(uint key) {
    return (key >> shift) & (DIGITS - 1u);
}

// Puts the sum of all counters before it in the place of each. There are DIGITS for each invocation, which takes neighbouring ones.
void sum_counters() {
    const uint first = gl_LocalInvocationID.x * DIGITS;
    uint own = 0u;
    for (uint k = 0u; k < DIGITS; ++k) {
        own += counters[first + k];
    }
    uint total;
    uint sum = sum_before(own, total);
    for (uint k = 0u; k < DIGITS; ++k) {
        const uint count = counters[first + k];
        counters[first + k] = sum;
        sum += count;
    }
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    const uint tile = linear_group();
    if (tile >= tiles) {
        return;
    }
    const uint extent = extent_of(tile);
    const uint first = tile * TILE + self * ITEMS;
    const uint own_extent = min(ITEMS, extent - min(extent, self * ITEMS));
    uint keys[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        keys[k] = k < own_extent ? source[first + k] : 0u;
    }
#ifdef PAYLOAD
    uint values[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        values[k] = k < own_extent ? source_values[first + k] : 0u;
    }
#endif

    for (uint digit = 0u; digit < DIGITS; ++digit) {
        counters[digit * gl_WorkGroupSize.x + self] = 0u;
    }
    uint places[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        const uint counter = digit_of(keys[k]) * gl_WorkGroupSize.x + self;
        places[k] = counters[counter];
        if (k < own_extent) {
            counters[counter] = places[k] + 1u;
        }
    }
    barrier();
    sum_counters();
    barrier();
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        uint begin = before[digit * tiles + tile];
        for (uint lower = 0u; lower < digit; ++lower) {
            begin += totals[lower];
        }
        offsets[digit] = begin - counters[digit * gl_WorkGroupSize.x];
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        const uint digit = digit_of(keys[k]);
        places[k] += offsets[digit] + counters[digit * gl_WorkGroupSize.x + self];
    }
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        if (k < own_extent) {
            target[places[k]] = keys[k];
#ifdef PAYLOAD
            target_values[places[k]] = values[k];
#endif
        }
    }
}
