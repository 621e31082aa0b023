#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "local_size.glsl"
#include "grid.glsl"
#include "compact.glsl"
#include "scan_subgroups.glsl"
#include "scan_tile.glsl"
#include "compact_ballots.glsl"

layout(set = 0, binding = 1) restrict writeonly buffer Sums { uint sums[]; };

// How many words of each tile are kept.
void main() {
    const uint tile = linear_group();
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
    uint rows_count = 0u;
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        rows_count += kept_of_row(is_kept(held[row]));
    }
    uint before, all;
    share_part(rows_count, before, all);
    if (gl_LocalInvocationID.x == 0u) {
        sums[tile] = all;
    }
}
