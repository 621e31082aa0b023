#version 450
#extension GL_EXT_control_flow_attributes : require
#ifdef HALF_SUMS
#extension GL_EXT_shader_explicit_arithmetic_types : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "matmul.glsl"
#include "matmul_operands.glsl"

// Rows and columns of an invocation: one of each, or a block.
layout(constant_id = 7) const uint ITEMS_M = 1u;
layout(constant_id = 8) const uint ITEMS_N = 1u;
// How far a step goes along what is summed.
layout(constant_id = 9) const uint TILE_K = 8u;

const uint SIZE = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
const uvec2 TILE = gl_WorkGroupSize.yx * uvec2(ITEMS_M, ITEMS_N);

// One word of a row is unused, so that words of a column lie in different banks.
const uint LEFT_PITCH = TILE_K + 1u;

// Words that are loaded before the first is stored, so that as many loads are in flight.
const uint UNROLL = 4u;

shared VALUE left_tile[TILE.x * LEFT_PITCH];
shared VALUE right_tile[TILE_K * TILE.y];

// Neighbours load neighbouring words of memory: along a row as it lies there.
uvec2 left_word(uint i) {
    return LEFT_TRANSPOSED ? uvec2(i % TILE.x, i / TILE.x) : uvec2(i / TILE_K, i % TILE_K);
}

uvec2 right_word(uint i) {
    return RIGHT_TRANSPOSED ? uvec2(i % TILE_K, i / TILE_K) : uvec2(i / TILE.y, i % TILE.y);
}

void load_left(uvec2 first, uint step, bool is_whole) {
    for (uint begin = gl_LocalInvocationIndex; begin < TILE.x * TILE_K; begin += UNROLL * SIZE) {
        VALUE held[UNROLL];
        [[unroll]] for (uint j = 0u; j < UNROLL; ++j) {
            const uint i = min(begin + j * SIZE, TILE.x * TILE_K - 1u);
            const uvec2 place = left_word(i) + uvec2(first.x, step);
            held[j] = is_whole ? left_at(place.x, place.y) : left_or_zero(place.x, place.y);
        }
        [[unroll]] for (uint j = 0u; j < UNROLL; ++j) {
            const uint i = begin + j * SIZE;
            if (i < TILE.x * TILE_K) {
                left_tile[left_word(i).x * LEFT_PITCH + left_word(i).y] = held[j];
            }
        }
    }
}

void load_right(uvec2 first, uint step, bool is_whole) {
    for (uint begin = gl_LocalInvocationIndex; begin < TILE_K * TILE.y; begin += UNROLL * SIZE) {
        VALUE held[UNROLL];
        [[unroll]] for (uint j = 0u; j < UNROLL; ++j) {
            const uint i = min(begin + j * SIZE, TILE_K * TILE.y - 1u);
            const uvec2 place = right_word(i) + uvec2(step, first.y);
            held[j] = is_whole ? right_at(place.x, place.y) : right_or_zero(place.x, place.y);
        }
        [[unroll]] for (uint j = 0u; j < UNROLL; ++j) {
            const uint i = begin + j * SIZE;
            if (i < TILE_K * TILE.y) {
                right_tile[right_word(i).x * TILE.y + right_word(i).y] = held[j];
            }
        }
    }
}

void main() {
    const uvec2 first = own_place(TILE);
    // That is the same for all of a workgroup.
    if (first.x >= rows) {
        return;
    }
    VALUE own_sums[ITEMS_M * ITEMS_N];
    [[unroll]] for (uint i = 0u; i < ITEMS_M * ITEMS_N; ++i) {
        own_sums[i] = VALUE(0);
    }
    for (uint step = 0u; step < inner; step += TILE_K) {
        if (step > 0u) {
            // All have used the last tiles.
            barrier();
        }
        const bool is_whole = is_whole_step(first, TILE, step, TILE_K);
        load_left(first, step, is_whole);
        load_right(first, step, is_whole);
        barrier();
        [[unroll]] for (uint k = 0u; k < TILE_K; ++k) {
            VALUE left[ITEMS_M];
            VALUE right[ITEMS_N];
            [[unroll]] for (uint i = 0u; i < ITEMS_M; ++i) {
                left[i] = left_tile[(gl_LocalInvocationID.y + i * gl_WorkGroupSize.y) * LEFT_PITCH + k];
            }
            [[unroll]] for (uint j = 0u; j < ITEMS_N; ++j) {
                right[j] = right_tile[k * TILE.y + gl_LocalInvocationID.x + j * gl_WorkGroupSize.x];
            }
            [[unroll]] for (uint i = 0u; i < ITEMS_M; ++i) {
                [[unroll]] for (uint j = 0u; j < ITEMS_N; ++j) {
                    own_sums[i * ITEMS_N + j] += left[i] * right[j];
                }
            }
        }
    }
    [[unroll]] for (uint i = 0u; i < ITEMS_M; ++i) {
        [[unroll]] for (uint j = 0u; j < ITEMS_N; ++j) {
            const uvec2 place = first + gl_LocalInvocationID.yx + uvec2(i, j) * gl_WorkGroupSize.yx;
            if (all(lessThan(place, uvec2(rows, columns)))) {
                sums[place.x * columns + place.y] = own_sums[i * ITEMS_N + j];
            }
        }
    }
}
