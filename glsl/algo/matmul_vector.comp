#version 450
#extension GL_EXT_control_flow_attributes : require
#ifdef HALF_SUMS
#extension GL_EXT_shader_explicit_arithmetic_types : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "matmul.glsl"
#include "matmul_operands.glsl"

// Rows and columns of an invocation, multiples of four.
layout(constant_id = 7) const uint ITEMS_M = 4u;
layout(constant_id = 8) const uint ITEMS_N = 4u;
// How far a step goes along what is summed, a multiple of four.
layout(constant_id = 9) const uint TILE_K = 8u;
// Two tiles of either side, one to multiply and one to fill; or one.
layout(constant_id = 10) const uint BUFFERS = 2u;

const uint SIZE = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
const uvec2 TILE = gl_WorkGroupSize.yx * uvec2(ITEMS_M, ITEMS_N);

// An invocation's rows and columns come in fours, each four beside the next invocation's: neighbours load neighbouring vectors.
const uint FOURS_M = ITEMS_M / 4u;
const uint FOURS_N = ITEMS_N / 4u;

// Vectors of a tile of each side, and how many of them an invocation loads.
const uint LEFT_VECTORS = TILE.x * TILE_K / 4u;
const uint RIGHT_VECTORS = TILE.y * TILE_K / 4u;
const uint LEFT_LOADS = (LEFT_VECTORS + SIZE - 1u) / SIZE;
const uint RIGHT_LOADS = (RIGHT_VECTORS + SIZE - 1u) / SIZE;

// Both tiles lie with all rows (or columns) of a k side by side, so that four of them are a vector. One vector is unused, so that those
// of neighbouring k lie in different banks.
const uint LEFT_PITCH = TILE.x / 4u + 1u;
const uint RIGHT_PITCH = TILE.y / 4u + 1u;

shared VALUE4 left_tiles[BUFFERS * TILE_K * LEFT_PITCH];
shared VALUE4 right_tiles[BUFFERS * TILE_K * RIGHT_PITCH];

// What an invocation has loaded and not yet stored, and its sums: for each of its rows, its columns in vectors.
VALUE4 left_held[LEFT_LOADS];
VALUE4 right_held[RIGHT_LOADS];
VALUE4 own_sums[ITEMS_M * FOURS_N];

// A factor's rows in memory run along k, or along its own rows (or columns): then a vector of it is one of the tile as well.
const bool LEFT_ALONG_K = !LEFT_TRANSPOSED;
const bool RIGHT_ALONG_K = RIGHT_TRANSPOSED;

// Row (or column) and k of the first element of a vector of a tile. Along k, neighbours load two vectors of a row, 32 bytes, and then
// the next row, so that what they store lies in different banks.
uvec2 place_in(uint i, uint extent, bool is_along_k) {
    const uint abreast = TILE_K % 8u == 0u ? 2u : 1u;
    return is_along_k ? uvec2(i / abreast % extent, (i % abreast + i / (abreast * extent) * abreast) * 4u)
                      : uvec2(i % (extent / 4u) * 4u, i / (extent / 4u));
}

// The last load may find no vector left.
bool is_there(uint i, uint vectors) {
    return vectors % SIZE == 0u || i < vectors;
}

void load_tiles(uvec2 first, uint step) {
    const bool is_whole = is_whole_step(first, TILE, step, TILE_K);
    [[unroll]] for (uint l = 0u; l < LEFT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        if (is_there(i, LEFT_VECTORS)) {
            const uvec2 place = place_in(i, TILE.x, LEFT_ALONG_K) + uvec2(first.x, step);
            left_held[l] = left_four(LEFT_ALONG_K ? place : place.yx, is_whole);
        }
    }
    [[unroll]] for (uint l = 0u; l < RIGHT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        if (is_there(i, RIGHT_VECTORS)) {
            const uvec2 place = place_in(i, TILE.y, RIGHT_ALONG_K) + uvec2(first.y, step);
            right_held[l] = right_four(RIGHT_ALONG_K ? place : place.yx, is_whole);
        }
    }
}

// Stores what was loaded, in one of the tiles.
void store_tiles(uint buffer_index) {
    const uint first_k = buffer_index * TILE_K;
    [[unroll]] for (uint l = 0u; l < LEFT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        const uvec2 place = place_in(i, TILE.x, LEFT_ALONG_K);
        if (is_there(i, LEFT_VECTORS)) {
            if (LEFT_ALONG_K) {
                [[unroll]] for (uint e = 0u; e < 4u; ++e) {
                    left_tiles[(first_k + place.y + e) * LEFT_PITCH + place.x / 4u][place.x % 4u] = left_held[l][e];
                }
            } else {
                left_tiles[(first_k + place.y) * LEFT_PITCH + place.x / 4u] = left_held[l];
            }
        }
    }
    [[unroll]] for (uint l = 0u; l < RIGHT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        const uvec2 place = place_in(i, TILE.y, RIGHT_ALONG_K);
        if (is_there(i, RIGHT_VECTORS)) {
            if (RIGHT_ALONG_K) {
                [[unroll]] for (uint e = 0u; e < 4u; ++e) {
                    right_tiles[(first_k + place.y + e) * RIGHT_PITCH + place.x / 4u][place.x % 4u] = right_held[l][e];
                }
            } else {
                right_tiles[(first_k + place.y) * RIGHT_PITCH + place.x / 4u] = right_held[l];
            }
        }
    }
}

// Adds the products of one k: each vector that is loaded takes part in several.
void multiply(uint k) {
    VALUE4 left[FOURS_M];
    VALUE4 right[FOURS_N];
    [[unroll]] for (uint i = 0u; i < FOURS_M; ++i) {
        left[i] = left_tiles[k * LEFT_PITCH + i * gl_WorkGroupSize.y + gl_LocalInvocationID.y];
    }
    [[unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
        right[j] = right_tiles[k * RIGHT_PITCH + j * gl_WorkGroupSize.x + gl_LocalInvocationID.x];
    }
    [[unroll]] for (uint i = 0u; i < ITEMS_M; ++i) {
        [[unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
            own_sums[i * FOURS_N + j] += left[i / 4u][i % 4u] * right[j];
        }
    }
}

void main() {
    const uvec2 first = own_place(TILE);
    // That is the same for all of a workgroup.
    if (first.x >= rows) {
        return;
    }
    [[unroll]] for (uint i = 0u; i < ITEMS_M * FOURS_N; ++i) {
        own_sums[i] = VALUE4(0);
    }
    uint buffer_index = 0u;
    if (BUFFERS == 2u) {
        load_tiles(first, 0u);
        store_tiles(0u);
        barrier();
    }
    for (uint step = 0u; step < inner; step += TILE_K) {
        const bool has_next = step + TILE_K < inner;
        if (BUFFERS == 1u) {
            load_tiles(first, step);
            if (step > 0u) {
                // All have used the last tiles.
                barrier();
            }
            store_tiles(0u);
            barrier();
        } else if (has_next) {
            // The next step's loads are on their way while this one multiplies.
            load_tiles(first, step + TILE_K);
        }
        [[unroll]] for (uint k = 0u; k < TILE_K; ++k) {
            multiply(buffer_index * TILE_K + k);
        }
        if (BUFFERS == 2u && has_next) {
            buffer_index ^= 1u;
            // Nobody uses these tiles: all have passed the barrier after the step that did.
            store_tiles(buffer_index);
            barrier();
        }
    }
    [[unroll]] for (uint i = 0u; i < ITEMS_M; ++i) {
        const uint row = first.x + (i / 4u * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 4u + i % 4u;
        [[unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
            const uint column = first.y + (j * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * 4u;
            store_four(row, column, own_sums[i * FOURS_N + j]);
        }
    }
}
