#version 450
#extension GL_EXT_control_flow_attributes : require
#ifdef PACKED_DOT
#extension GL_EXT_integer_dot_product : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "matmul_block.glsl"
#include "matmul.glsl"
#include "matmul_elements.glsl"
#include "matmul_vectors.glsl"

// Products of each sum in a step, or packs of products: a multiple of four.
layout(constant_id = 10) const uint TILE_K = 16;

// Whether there are two tiles of each side, one to multiply and one to fill.
layout(constant_id = 11) const bool BUFFERED = true;

const uint TILES = BUFFERED ? 2 : 1;

// What a step takes of k.
const uint STEP = TILE_K * PACK;

// An invocation's rows and columns come in fours, each four beside the next invocation's: neighbours load neighbouring vectors.
const uint FOURS_M = ITEMS_M / 4;
const uint FOURS_N = ITEMS_N / 4;

// Vectors of a tile of each side, and how many of them an invocation loads.
const uint LEFT_VECTORS = TILE_M * (TILE_K / 4);
const uint RIGHT_VECTORS = TILE_N * (TILE_K / 4);
const uint LEFT_LOADS = (LEFT_VECTORS + SIZE - 1) / SIZE;
const uint RIGHT_LOADS = (RIGHT_VECTORS + SIZE - 1) / SIZE;

// Vectors from one k of a tile to the next: one is unused, so that what neighbours store of a vector goes to different banks.
const uint PITCH_M = TILE_M / 4 + 1;
const uint PITCH_N = TILE_N / 4 + 1;

// Of vectors along k, neighbouring invocations load so many of one line: two make up 32 bytes of it.
const uint ABREAST = TILE_K % 8 == 0 ? 2 : 1;

// Where four neighbours in y are beside eight in x, a subgroup's invocations are a block of eight by four, so that together they need fewer
// vectors of either tile than those of a row do.
const bool IS_IN_BLOCKS = gl_WorkGroupSize.x % 8 == 0 && gl_WorkGroupSize.y % 4 == 0;

// The tiles, k by k, four lines in a vector.
shared VECTOR left_tiles[TILES * TILE_K * PITCH_M];
shared VECTOR right_tiles[TILES * TILE_K * PITCH_N];

// What an invocation has loaded and not yet stored.
RAW left_held[LEFT_LOADS];
RAW right_held[RIGHT_LOADS];

// Its sums: for each of its rows, its columns in vectors.
SUMS sums[ITEMS_M * FOURS_N];

// The place of an invocation in its workgroup.
uvec2 own_place() {
    const uint i = gl_LocalInvocationIndex;
    const uint block = i / 32;
    const uint across = max(gl_WorkGroupSize.x / 8, 1);
    return IS_IN_BLOCKS ? uvec2(block % across * 8 + i % 8, block / across * 4 + i / 8 % 4) : gl_LocalInvocationID.xy;
}

// Line and k, both in elements of the tile, or k in packs, of a vector that an invocation loads.
uvec2 place_of(uint load, uint lines, bool is_along) {
    const uint i = gl_LocalInvocationIndex + load * SIZE;
    const uvec2 along = uvec2(i / ABREAST % lines, (i % ABREAST + i / (ABREAST * lines) * ABREAST) * 4);
    return is_along ? along : uvec2(i % (lines / 4) * 4, i / (lines / 4));
}

// The last load may find no vector left.
bool is_there(uint load, uint vectors) {
    return vectors % SIZE == 0 || gl_LocalInvocationIndex + load * SIZE < vectors;
}

// Loads the invocation's part of both tiles of a step that begins at this k.
void load_tiles(uvec2 tile, uint first_k, bool is_inside) {
    [[unroll]] for (uint l = 0; l < LEFT_LOADS; ++l) {
        const uvec2 place = place_of(l, TILE_M, is_along_k(false));
        left_held[l] = RAW(0);
        if (is_there(l, LEFT_VECTORS)) {
            left_held[l] = loaded(false, tile.y + place.x, first_k + place.y * PACK, is_inside);
        }
    }
    [[unroll]] for (uint l = 0; l < RIGHT_LOADS; ++l) {
        const uvec2 place = place_of(l, TILE_N, is_along_k(true));
        right_held[l] = RAW(0);
        if (is_there(l, RIGHT_VECTORS)) {
            right_held[l] = loaded(true, tile.x + place.x, first_k + place.y * PACK, is_inside);
        }
    }
}

void load_step(uvec2 tile, uint first_k) {
    // A branch that all of a workgroup take together keeps the bounds out of whole tiles.
    if (tile.y + TILE_M <= rows && tile.x + TILE_N <= columns && first_k + STEP <= inner) {
        load_tiles(tile, first_k, true);
    } else {
        load_tiles(tile, first_k, false);
    }
}

// Stores what it has loaded, in one of the tiles.
void store_step(uint which) {
    [[unroll]] for (uint l = 0; l < LEFT_LOADS; ++l) {
        const uvec2 place = place_of(l, TILE_M, is_along_k(false));
        const VECTOR vector = converted(left_held[l], is_along_k(false));
        if (is_there(l, LEFT_VECTORS)) {
            const uint first = (which * TILE_K + place.y) * PITCH_M + place.x / 4;
            if (is_along_k(false)) {
                [[unroll]] for (uint j = 0; j < 4; ++j) {
                    left_tiles[first + j * PITCH_M][place.x % 4] = vector[j];
                }
            } else {
                left_tiles[first] = vector;
            }
        }
    }
    [[unroll]] for (uint l = 0; l < RIGHT_LOADS; ++l) {
        const uvec2 place = place_of(l, TILE_N, is_along_k(true));
        const VECTOR vector = converted(right_held[l], is_along_k(true));
        if (is_there(l, RIGHT_VECTORS)) {
            const uint first = (which * TILE_K + place.y) * PITCH_N + place.x / 4;
            if (is_along_k(true)) {
                [[unroll]] for (uint j = 0; j < 4; ++j) {
                    right_tiles[first + j * PITCH_N][place.x % 4] = vector[j];
                }
            } else {
                right_tiles[first] = vector;
            }
        }
    }
}

// Adds the products of one k: each vector that is loaded takes part in several.
void multiply(uint k, uvec2 own) {
    VECTOR left[FOURS_M];
    VECTOR right[FOURS_N];
    [[unroll]] for (uint i = 0; i < FOURS_M; ++i) {
        left[i] = left_tiles[k * PITCH_M + i * gl_WorkGroupSize.y + own.y];
    }
    [[unroll]] for (uint j = 0; j < FOURS_N; ++j) {
        right[j] = right_tiles[k * PITCH_N + j * gl_WorkGroupSize.x + own.x];
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        [[unroll]] for (uint j = 0; j < FOURS_N; ++j) {
            add_products(sums[i * FOURS_N + j], left[i / 4][i % 4], right[j]);
        }
    }
}

void multiply_step(uint which, uvec2 own) {
    [[unroll]] for (uint k = 0; k < TILE_K; ++k) {
        multiply(which * TILE_K + k, own);
    }
}

void main() {
    if (!has_tile()) {
        return;
    }
    const uvec2 tile = own_tile();
    const uvec2 own = own_place();
    [[unroll]] for (uint i = 0; i < ITEMS_M * FOURS_N; ++i) {
        sums[i] = SUMS(0);
    }
    load_step(tile, 0);
    store_step(0);
    barrier();
    uint which = 0;
    for (uint k = 0; k < inner; k += STEP) {
        const bool is_last = k + STEP >= inner;
        if (BUFFERED) {
            // The next step's loads are under way while this one multiplies.
            if (!is_last) {
                load_step(tile, k + STEP);
            }
            multiply_step(which, own);
            which ^= 1;
            if (!is_last) {
                // Nobody uses the other tiles: all have passed the barrier after the step that did.
                store_step(which);
                barrier();
            }
        } else {
            multiply_step(0, own);
            if (!is_last) {
                load_step(tile, k + STEP);
                // All have used the last tiles.
                barrier();
                store_step(0);
                barrier();
            }
        }
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        const uint row = tile.y + (i / 4 * gl_WorkGroupSize.y + own.y) * 4 + i % 4;
        [[unroll]] for (uint j = 0; j < FOURS_N; ++j) {
            store_four(row, tile.x + (j * gl_WorkGroupSize.x + own.x) * 4, sums[i * FOURS_N + j]);
        }
    }
}
