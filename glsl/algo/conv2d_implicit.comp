#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "conv2d.glsl"
#include "conv2d_operands.glsl"
#include "conv2d_matrix.glsl"

// Columns of a step, a multiple of four.
layout(constant_id = 8) const uint TILE_K = 16;

// Four columns of a row, from this one on: zero where a tap lies outside of the image, and beyond the last pixel and column. That is one
// test for all four where they are channels of one tap, so that whole tiles need no way of their own.
vec4 vector_at(Row row, Column column) {
    vec4 values = vec4(0);
    if (WHOLE_CHANNELS) {
        if (is_there(row, column)) {
            values = floats(source_vectors[(row.first + column.distance) / 4]);
        }
    } else {
        [[unroll]] for (uint j = 0; j < 4; ++j) {
            if (is_there(row, column)) {
                values[j] = source_at(row.first + column.distance);
            }
            column = moved_by(column, 1);
        }
    }
    return values;
}

const uint SIZE = gl_WorkGroupSize.x * gl_WorkGroupSize.y;

// An invocation's pixels and filters come in fours, each four beside the next invocation's: neighbours load neighbouring vectors.
const uint FOURS_M = ITEMS_M / 4;
const uint FOURS_N = ITEMS_N / 4;

// Vectors of a tile of each side, and how many of them an invocation loads.
const uint VECTORS_N = TILE_N / 4;
const uint LEFT_VECTORS = TILE_M * (TILE_K / 4);
const uint RIGHT_VECTORS = TILE_K * VECTORS_N;
const uint LEFT_LOADS = (LEFT_VECTORS + SIZE - 1) / SIZE;
const uint RIGHT_LOADS = (RIGHT_VECTORS + SIZE - 1) / SIZE;

// Vectors from a column of the left tile to the next: one is unused, so that the columns of a vector go to different banks.
const uint PITCH_M = TILE_M / 4 + 1;

// Neighbouring invocations load so many vectors of one row: two make up 32 bytes of it.
const uint ABREAST = TILE_K % 8 == 0 ? 2 : 1;

// Two tiles of either side, one to multiply and one to fill. The left ones lie column by column, so that four pixels are a vector.
shared vec4 left_tiles[2 * TILE_K * PITCH_M];
shared vec4 right_tiles[2 * TILE_K * VECTORS_N];

// What an invocation loads of the left side: the rows stay, the columns move on.
Row rows[LEFT_LOADS];
Column columns[LEFT_LOADS];

// What it has loaded and not yet stored.
vec4 left_held[LEFT_LOADS];
vec4 right_held[RIGHT_LOADS];

// Its sums: for each of its pixels, its filters in vectors.
vec4 sums[ITEMS_M * FOURS_N];

// Row and first column in the left tile of a vector that an invocation loads.
uvec2 left_place(uint load) {
    const uint i = gl_LocalInvocationIndex + load * SIZE;
    return uvec2(i / ABREAST % TILE_M, (i % ABREAST + i / (ABREAST * TILE_M) * ABREAST) * 4);
}

// Row and vector in the right tile of one.
uvec2 right_place(uint load) {
    const uint i = gl_LocalInvocationIndex + load * SIZE;
    return uvec2(i / VECTORS_N, i % VECTORS_N);
}

// The last load may find no vector left.
bool is_left(uint load) {
    return LEFT_VECTORS % SIZE == 0 || gl_LocalInvocationIndex + load * SIZE < LEFT_VECTORS;
}

bool is_right(uint load) {
    return RIGHT_VECTORS % SIZE == 0 || gl_LocalInvocationIndex + load * SIZE < RIGHT_VECTORS;
}

// Loads the invocation's part of both tiles of a step, whose first column is this one.
void load_tiles(uint first_column, uint first_filter) {
    [[unroll]] for (uint l = 0; l < LEFT_LOADS; ++l) {
        left_held[l] = is_left(l) ? vector_at(rows[l], columns[l]) : vec4(0);
    }
    [[unroll]] for (uint l = 0; l < RIGHT_LOADS; ++l) {
        const uvec2 place = right_place(l);
        right_held[l] = is_right(l) ? weights_of(first_column + place.x, first_filter + place.y * 4) : vec4(0);
    }
}

// Stores what it has loaded, in one of the two tiles.
void store_tiles(uint which) {
    [[unroll]] for (uint l = 0; l < LEFT_LOADS; ++l) {
        const uvec2 place = left_place(l);
        if (is_left(l)) {
            [[unroll]] for (uint j = 0; j < 4; ++j) {
                left_tiles[(which * TILE_K + place.y + j) * PITCH_M + place.x / 4][place.x % 4] = left_held[l][j];
            }
        }
    }
    [[unroll]] for (uint l = 0; l < RIGHT_LOADS; ++l) {
        const uvec2 place = right_place(l);
        if (is_right(l)) {
            right_tiles[(which * TILE_K + place.x) * VECTORS_N + place.y] = right_held[l];
        }
    }
}

// Adds the products of one column: each vector that is loaded takes part in several.
void multiply(uint column) {
    vec4 left[FOURS_M];
    vec4 right[FOURS_N];
    [[unroll]] for (uint i = 0; i < FOURS_M; ++i) {
        left[i] = left_tiles[column * PITCH_M + i * gl_WorkGroupSize.y + gl_LocalInvocationID.y];
    }
    [[unroll]] for (uint j = 0; j < FOURS_N; ++j) {
        right[j] = right_tiles[column * VECTORS_N + j * gl_WorkGroupSize.x + gl_LocalInvocationID.x];
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        [[unroll]] for (uint j = 0; j < FOURS_N; ++j) {
            sums[i * FOURS_N + j] += left[i / 4][i % 4] * right[j];
        }
    }
}

void main() {
    const uvec2 tile = own_tile();
    const uint first_pixel = tile.y * TILE_M;
    const uint first_filter = tile.x * TILE_N;
    // The grid may be larger than the tiles are many: that is the same for all of a workgroup.
    if (first_pixel >= pixels) {
        return;
    }
    [[unroll]] for (uint l = 0; l < LEFT_LOADS; ++l) {
        const uvec2 place = left_place(l);
        rows[l] = row_of(first_pixel + place.x);
        columns[l] = column_at(place.y);
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M * FOURS_N; ++i) {
        sums[i] = vec4(0);
    }
    load_tiles(0, first_filter);
    store_tiles(0);
    barrier();
    const uint all_columns = TAPS * channels;
    uint which = 0;
    for (uint column = 0; column < all_columns; column += TILE_K) {
        const bool is_last = column + TILE_K >= all_columns;
        // The next step's loads are under way while this one multiplies.
        if (!is_last) {
            [[unroll]] for (uint l = 0; l < LEFT_LOADS; ++l) {
                columns[l] = moved_by(columns[l], TILE_K);
            }
            load_tiles(column + TILE_K, first_filter);
        }
        [[unroll]] for (uint k = 0; k < TILE_K; ++k) {
            multiply(which * TILE_K + k);
        }
        which ^= 1;
        if (!is_last) {
            // Nobody uses the other tiles: all have passed the barrier after the step that did.
            store_tiles(which);
            barrier();
        }
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        const uint pixel = first_pixel + (i / 4 * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * 4 + i % 4;
        [[unroll]] for (uint j = 0; j < FOURS_N; ++j) {
            if (pixel < pixels) {
                store(pixel, first_filter + (j * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * 4, sums[i * FOURS_N + j]);
            }
        }
    }
}
