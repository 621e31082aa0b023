#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#ifdef BFLOAT16
#extension GL_EXT_bfloat16 : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "coopmat_sizes.glsl"
#include "matmul.glsl"
#include "matmul_coopmat.glsl"

#define ROWS rows
#define COLUMNS columns
#define INNER inner
#include "coopmat_tiles.glsl"

layout(set = 0, binding = 0) restrict readonly buffer Left { uvec4 left_vectors[]; };
layout(set = 0, binding = 1) restrict readonly buffer Right { uvec4 right_vectors[]; };

// Rows of each factor as it lies in memory, and how long they are.
uvec2 left_extent() {
    return LEFT_TRANSPOSED ? uvec2(inner, rows) : uvec2(rows, inner);
}

uvec2 right_extent() {
    return RIGHT_TRANSPOSED ? uvec2(columns, inner) : uvec2(inner, columns);
}

// A vector of a factor's rows, from an element on; what isn't there is zero. `is_whole` is the same for all of a workgroup.
#define LOADER(NAME, VECTORS)                                                                                                      \
    uvec4 NAME(uvec2 place, uvec2 extent, bool is_whole) {                                                                         \
        const uint first = place.x * extent.y + place.y;                                                                           \
        if (is_whole) {                                                                                                            \
            return VECTORS[first / VECTOR];                                                                                        \
        }                                                                                                                          \
        uvec4 vector = uvec4(0u);                                                                                                  \
        [[unroll]] for (uint e = 0u; e < VECTOR; ++e) {                                                                            \
            if (place.x < extent.x && place.y + e < extent.y) {                                                                    \
                const uint byte = (first + e) * A_BYTES;                                                                           \
                const uint bits = bitfieldExtract(VECTORS[byte / 16u][byte / 4u % 4u], int(byte % 4u * 8u), int(A_BYTES * 8u));    \
                vector[e * A_BYTES / 4u] |= bits << (e * A_BYTES % 4u * 8u);                                                       \
            }                                                                                                                      \
        }                                                                                                                          \
        return vector;                                                                                                             \
    }

LOADER(left_vector, left_vectors)
LOADER(right_vector, right_vectors)

uvec2 left_first;
uvec2 right_first;
bool is_whole;

void begin_step(uvec2 first, uint step) {
    left_first = LEFT_TRANSPOSED ? uvec2(step, first.x) : uvec2(first.x, step);
    right_first = RIGHT_TRANSPOSED ? uvec2(first.y, step) : uvec2(step, first.y);
    const bool is_inside = first.x + TILE_M <= rows && first.y + TILE_N <= columns && step + TILE_K <= inner;
    is_whole = ALL_WHOLE || (WHOLE_VECTORS && is_inside);
}

uvec4 left_loaded(uint load, uvec2 place) {
    return left_vector(left_first + uvec2(place.x, place.y * VECTOR), left_extent(), is_whole);
}

uvec4 right_loaded(uvec2 place) {
    return right_vector(right_first + uvec2(place.x, place.y * VECTOR), right_extent(), is_whole);
}

void main() {
    if (has_tile()) {
        multiply_tile(own_tile().yx);
    }
}
