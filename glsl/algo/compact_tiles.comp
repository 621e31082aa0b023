#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
// LOOK_BACK, the binding of the tiles' states, is a macro: it changes the resources. Without it, an earlier dispatch has counted what
// the tiles before each keep.
#ifdef LOOK_BACK
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "compact.glsl"
#include "scan_subgroups.glsl"
#include "scan_tile.glsl"

layout(set = 0, binding = 1) restrict writeonly buffer Kept { uint kept[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Count { uint count[]; };

#ifdef LOOK_BACK
#include "scan_lanes.glsl"
#include "scan_look_back.glsl"

uint own_part_of(uint tile) {
    uvec4 own = uvec4(0u);
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        own += uvec4(is_kept(source_vectors[own_vector(tile, row)]));
    }
    return own.x + own.y + own.z + own.w;
}
#else
layout(set = 0, binding = 3) restrict readonly buffer Sums { uint sums[]; };
#endif

// What the tile keeps, in order: so neighbouring invocations store neighbouring words.
shared uint staged[TILE];

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
            held[row] = ragged_vector(own_vector(tile, row), NOT_KEPT);
        }
    }
#ifndef LOOK_BACK
    const uint before_tile = sums[tile];
#endif
    // The place of the first word of each vector that is kept, among those of the subgroup.
    uint places[ROWS];
    uint rows_count = 0u;
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        const bvec4 own = is_kept(held[row]);
        uint before_lane = 0u;
        uint of_row = 0u;
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            const uvec4 ballot = subgroupBallot(own[i]);
            before_lane += subgroupBallotExclusiveBitCount(ballot);
            of_row += subgroupBallotBitCount(ballot);
        }
        places[row] = rows_count + before_lane;
        rows_count += of_row;
    }
    uint before_subgroup, all;
    share_part(rows_count, before_subgroup, all);
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        const bvec4 own = is_kept(held[row]);
        uint place = before_subgroup + places[row];
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
            if (own[i]) {
                staged[place] = held[row][i];
            }
            place += uint(own[i]);
        }
    }
#ifdef LOOK_BACK
    const uint before_tile = sum_before(tile, all);
#else
    barrier();
#endif
    for (uint place = gl_LocalInvocationID.x; place < all; place += gl_WorkGroupSize.x) {
        kept[before_tile + place] = staged[place];
    }
    if (gl_LocalInvocationID.x == 0u && tile == tile_count() - 1u) {
        count[0] = before_tile + all;
    }
}
