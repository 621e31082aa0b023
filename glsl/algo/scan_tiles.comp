#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
// LOOK_BACK, the binding of the tiles' states, is a macro: it changes the resources. Without it, an earlier dispatch has computed the
// sums of the tiles before each.
#ifdef LOOK_BACK
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "scan.glsl"
#include "scan_subgroups.glsl"
#include "scan_lanes.glsl"
#include "scan_tile.glsl"

// The same buffer twice, so not `restrict`: whole tiles are stored by vectors, the last one by words.
layout(set = 0, binding = 1) writeonly buffer Target { uint target_words[]; };
layout(set = 0, binding = 2) writeonly buffer TargetVectors { uvec4 target_vectors[]; };

#ifdef LOOK_BACK
#include "scan_look_back.glsl"

uint own_part_of(uint tile) {
    uvec4 sum = uvec4(0u);
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        sum += source_vectors[own_vector(tile, row)];
    }
    return sum.x + sum.y + sum.z + sum.w;
}
#else
layout(set = 0, binding = 3) restrict readonly buffer Sums { uint sums[]; };
#endif

void main() {
#ifdef LOOK_BACK
    const uint tile = next_tile();
#else
    const uint tile = linear_group();
#endif
    if (tile >= tile_count()) {
        return;
    }
    uvec4 held[ROWS];
    if (is_whole(tile)) {
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
            held[row] = source_vectors[own_vector(tile, row)];
        }
    } else {
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
            held[row] = ragged_vector(own_vector(tile, row), 0u);
        }
    }
#ifndef LOOK_BACK
    const uint before_tile = sums[tile];
#endif
    // Each word becomes the sum from the subgroup's first word up to it.
    uint rows_sum = 0u;
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        uvec4 sums_within = held[row];
        sums_within.y += sums_within.x;
        sums_within.z += sums_within.y;
        sums_within.w += sums_within.z;
        const uint up_to_lane = scan_lanes(sums_within.w);
        held[row] = sums_within + (rows_sum + up_to_lane - sums_within.w);
        rows_sum += of_last_lane(up_to_lane);
    }
    uint before_subgroup, all;
    share_part(rows_sum, before_subgroup, all);
#ifdef LOOK_BACK
    const uint before_tile = sum_before(tile, all);
#endif
    const uint before = before_tile + before_subgroup;
    if (is_whole(tile)) {
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
            target_vectors[own_vector(tile, row)] = held[row] + before;
        }
    } else {
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
            const uint first = 4u * own_vector(tile, row);
            const uvec4 sums_up_to = held[row] + before;
            [[unroll]] for (uint i = 0u; i < 4u; ++i) {
                if (first + i < size) {
                    target_words[first + i] = sums_up_to[i];
                }
            }
        }
    }
}
