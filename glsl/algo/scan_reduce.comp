#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "local_size.glsl"
#include "grid.glsl"
#include "scan.glsl"
#include "scan_subgroups.glsl"
#include "scan_lanes.glsl"
#include "scan_tile.glsl"

layout(set = 0, binding = 1) restrict writeonly buffer Sums { uint sums[]; };

// The sum of each tile.
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
            held[row] = ragged_vector(own_vector(tile, row), 0u);
        }
    }
    uvec4 sum = uvec4(0u);
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        sum += held[row];
    }
    uint before, all;
    share_part(of_last_lane(scan_lanes(sum.x + sum.y + sum.z + sum.w)), before, all);
    if (gl_LocalInvocationID.x == 0u) {
        sums[tile] = all;
    }
}
