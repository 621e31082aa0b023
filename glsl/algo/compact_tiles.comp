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

layout(set = 0, binding = 0) restrict readonly buffer SourceWords { uint source_words[]; };
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

// Where a whole row is loaded word by word, what it keeps goes to neighbouring places at once, without a detour through workgroup
// memory, which would leave room for few workgroups: rows here are words of the lanes, not vectors.
uint own_word(uint tile, uint row) {
    return tile * TILE + gl_SubgroupID * gl_SubgroupSize * ITEMS + row * lanes() + gl_SubgroupInvocationID;
}

void main() {
#ifdef LOOK_BACK
    const uint tile = next_tile();
#else
    const uint tile = linear_group();
#endif
    if (tile >= tile_count()) {
        return;
    }
    uint words[ITEMS];
    if (is_whole(tile)) {
        [[unroll]] for (uint row = 0u; row < ITEMS; ++row) {
            words[row] = source_words[own_word(tile, row)];
        }
    } else {
        [[unroll]] for (uint row = 0u; row < ITEMS; ++row) {
            words[row] = own_word(tile, row) < size ? source_words[own_word(tile, row)] : NOT_KEPT;
        }
    }
#ifndef LOOK_BACK
    const uint before_tile = sums[tile];
#endif
    uint own = 0u;
    [[unroll]] for (uint row = 0u; row < ITEMS; ++row) {
        own += subgroupBallotBitCount(subgroupBallot(words[row] < threshold));
    }
    uint before_subgroup, all;
    share_part(own, before_subgroup, all);
#ifdef LOOK_BACK
    const uint before_tile = sum_before(tile, all);
#endif
    uint place = before_tile + before_subgroup;
    [[unroll]] for (uint row = 0u; row < ITEMS; ++row) {
        const uvec4 ballot = subgroupBallot(words[row] < threshold);
        if (words[row] < threshold) {
            kept[place + subgroupBallotExclusiveBitCount(ballot)] = words[row];
        }
        place += subgroupBallotBitCount(ballot);
    }
    if (gl_LocalInvocationID.x == 0u && tile == tile_count() - 1u) {
        count[0] = before_tile + all;
    }
}
