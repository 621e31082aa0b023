#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "matmul_block.glsl"
#include "matmul.glsl"
#include "matmul_elements.glsl"

// Products of each sum in a step: columns of the left tile, rows of the right one. A multiple of four.
layout(constant_id = 7) const uint TILE_K = 16;

// One tile of each side, the left one column by column. A row of them has one element that is unused: else those that neighbours store
// one below the other would lie in the same bank.
const uint PITCH_M = TILE_M + 1;
const uint PITCH_N = TILE_N + 1;
shared FACTOR left_tile[TILE_K * PITCH_M];
shared FACTOR right_tile[TILE_K * PITCH_N];

const uint LEFT_ELEMENTS = TILE_M * TILE_K;
const uint RIGHT_ELEMENTS = TILE_N * TILE_K;

// Elements that are loaded before the first is stored, so that as many loads are in flight.
const uint UNROLL = 4;

// An invocation's sums: tiled has one, blocked several.
SUM sums[ITEMS_M * ITEMS_N];

// Row (or column) and k in its tile of the element that an invocation loads. Neighbours load what lies side by side in memory.
uvec2 place_of(uint i, uint tile, bool is_along_k) {
    return is_along_k ? uvec2(i / TILE_K, i % TILE_K) : uvec2(i % tile, i / tile);
}

// Loads the left tile of a step: zeros where the matrix has no element, unless it has all of them.
void load_left(uint first_row, uint first_k, bool is_whole) {
    for (uint first = gl_LocalInvocationIndex; first < LEFT_ELEMENTS; first += UNROLL * SIZE) {
        FACTOR held[UNROLL];
        [[unroll]] for (uint l = 0; l < UNROLL; ++l) {
            const uint i = first + l * SIZE;
            const uvec2 place = uvec2(first_row, first_k) + place_of(i, TILE_M, !LEFT_TRANSPOSED);
            held[l] = FACTOR(0);
            if (i < LEFT_ELEMENTS && (is_whole || place.x < rows && place.y < inner)) {
                held[l] = left_at(place.x, place.y);
            }
        }
        [[unroll]] for (uint l = 0; l < UNROLL; ++l) {
            const uint i = first + l * SIZE;
            const uvec2 place = place_of(i, TILE_M, !LEFT_TRANSPOSED);
            if (i < LEFT_ELEMENTS) {
                left_tile[place.y * PITCH_M + place.x] = held[l];
            }
        }
    }
}

// The same of the right one.
void load_right(uint first_column, uint first_k, bool is_whole) {
    for (uint first = gl_LocalInvocationIndex; first < RIGHT_ELEMENTS; first += UNROLL * SIZE) {
        FACTOR held[UNROLL];
        [[unroll]] for (uint l = 0; l < UNROLL; ++l) {
            const uint i = first + l * SIZE;
            const uvec2 place = uvec2(first_column, first_k) + place_of(i, TILE_N, RIGHT_TRANSPOSED);
            held[l] = FACTOR(0);
            if (i < RIGHT_ELEMENTS && (is_whole || place.x < columns && place.y < inner)) {
                held[l] = right_at(place.y, place.x);
            }
        }
        [[unroll]] for (uint l = 0; l < UNROLL; ++l) {
            const uint i = first + l * SIZE;
            const uvec2 place = place_of(i, TILE_N, RIGHT_TRANSPOSED);
            if (i < RIGHT_ELEMENTS) {
                right_tile[place.y * PITCH_N + place.x] = held[l];
            }
        }
    }
}

// Adds the products of one k: each element that is loaded takes part in several.
void multiply(uint k) {
    FACTOR left[ITEMS_M];
    FACTOR right[ITEMS_N];
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        left[i] = left_tile[k * PITCH_M + i * gl_WorkGroupSize.y + gl_LocalInvocationID.y];
    }
    [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
        right[j] = right_tile[k * PITCH_N + j * gl_WorkGroupSize.x + gl_LocalInvocationID.x];
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
            sums[i * ITEMS_N + j] += left[i] * right[j];
        }
    }
}

void main() {
    if (!has_tile()) {
        return;
    }
    const uvec2 tile = own_tile();
    const bool is_inside = tile.x + TILE_N <= columns && tile.y + TILE_M <= rows;
    [[unroll]] for (uint i = 0; i < ITEMS_M * ITEMS_N; ++i) {
        sums[i] = SUM(0);
    }
    for (uint k = 0; k < inner; k += TILE_K) {
        if (k > 0) {
            // All have used the last tiles.
            barrier();
        }
        if (is_inside && k + TILE_K <= inner) {
            load_left(tile.y, k, true);
            load_right(tile.x, k, true);
        } else {
            load_left(tile.y, k, false);
            load_right(tile.x, k, false);
        }
        barrier();
        [[unroll]] for (uint own = 0; own < TILE_K; ++own) {
            multiply(own);
        }
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        const uint row = tile.y + i * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
        [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
            store(row, tile.x + j * gl_WorkGroupSize.x + gl_LocalInvocationID.x, sums[i * ITEMS_N + j]);
        }
    }
}
