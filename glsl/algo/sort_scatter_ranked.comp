#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort.glsl"
#include "sort_ranked.glsl"

// `radix8`: a tile's runs go where the counts of the kernels before this one tell.

// For each digit, how many keys of the tiles before this one have it; and how many of all.
layout(set = 0, binding = 4) restrict readonly buffer Before { uint before[]; };
layout(set = 0, binding = 5) restrict readonly buffer Totals { uint totals[]; };

void main() {
    const uint self = gl_LocalInvocationID.x;
    const uint tile = linear_group();
    if (tile >= tiles) {
        return;
    }
    const uint extent = extent_of(tile);
    load_keys(tile, extent);
    // Where each digit begins in the target: the same sums as those of the tile's own counts.
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        counts[digit] = totals[digit];
        offsets[digit] = before[digit * tiles + tile];
    }
    clear_counters();
    barrier();
    sum_digits();
    rank_keys();
    barrier();
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        offsets[digit] += starts[digit];
        counts[digit] = sum_counters(digit);
    }
    barrier();
    sum_digits();
    barrier();
    reorder_keys();
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        offsets[digit] -= starts[digit];
    }
    barrier();
    write_tile(tile, extent);
}
