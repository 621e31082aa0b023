#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "local_size.glsl"
#include "grid.glsl"
#include "coopmat_sizes.glsl"
#include "conv2d.glsl"
#include "conv2d_matrix.glsl"

// The implicit matrix product on cooperative matrices.

// All tiles of pixels and filters are whole.
layout(constant_id = 8) const bool ALL_WHOLE = false;

// Both factors are f16, in vectors of eight.
layout(set = 0, binding = 0) restrict readonly buffer Source { uvec4 source_vectors[]; };
layout(set = 0, binding = 1) restrict readonly buffer Weights { uvec4 weight_vectors[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Target { C sums[]; };

#define LEFT_TRANSPOSED false
#define RIGHT_TRANSPOSED false
#define ROWS pixels
#define COLUMNS filters
#define INNER (TAPS * channels)
#include "coopmat_tiles.glsl"

// What an invocation loads of the left side: the rows stay, and the column, which is that of all its loads, moves on.
Row own_rows[LEFT_LOADS];
Column own_column;

// Row and filter at which its loads of the right side begin.
uvec2 right_first;

void begin_step(uvec2 first, uint step) {
    right_first = uvec2(step, first.y);
    if (step == 0u) {
        [[unroll]] for (uint l = 0u; l < LEFT_LOADS; ++l) {
            own_rows[l] = row_of(first.x + place_in(gl_LocalInvocationIndex + l * SIZE, LEFT_VECTORS).x);
        }
        own_column = column_at(gl_LocalInvocationIndex % LEFT_VECTORS * VECTOR);
    } else {
        own_column = moved_by(own_column, TILE_K);
    }
}

// The bits of one half of a vector.
uint half_of(uvec4 vector, uint i) {
    return vector[i / 2u] >> i % 2u * 16u & 0xFFFFu;
}

uvec4 left_loaded(uint load, uvec2 place) {
    const Row row = own_rows[load];
    uvec4 vector = uvec4(0u);
    if (WHOLE_CHANNELS) {
        if (is_there(row, own_column)) {
            vector = source_vectors[(row.first + own_column.distance) / VECTOR];
        }
    } else {
        Column column = own_column;
        [[unroll]] for (uint e = 0u; e < VECTOR; ++e) {
            if (is_there(row, column)) {
                const uint i = row.first + column.distance;
                vector[e / 2u] |= half_of(source_vectors[i / VECTOR], i % VECTOR) << e % 2u * 16u;
            }
            column = moved_by(column, 1u);
        }
    }
    return vector;
}

uvec4 right_loaded(uvec2 place) {
    const uint row = right_first.x + place.x;
    const uint filter_index = right_first.y + place.y * VECTOR;
    uvec4 vector = uvec4(0u);
    if (row < INNER) {
        if (WHOLE_FILTERS) {
            if (filter_index < filters) {
                vector = weight_vectors[(row * filters + filter_index) / VECTOR];
            }
        } else {
            [[unroll]] for (uint e = 0u; e < VECTOR; ++e) {
                if (filter_index + e < filters) {
                    const uint i = row * filters + filter_index + e;
                    vector[e / 2u] |= half_of(weight_vectors[i / VECTOR], i % VECTOR) << e % 2u * 16u;
                }
            }
        }
    }
    return vector;
}

void main() {
    const uvec2 first = uvec2(own_tile().y * TILE_M, own_tile().x * TILE_N);
    // The grid may be larger than the tiles are many: that is the same for all of a workgroup.
    if (first.x < pixels) {
        multiply_tile(first);
    }
}
