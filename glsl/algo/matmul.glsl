// What all kernels of algo/matmul have in common: the problem, and which part of it a workgroup has.
//
// result[row][column] is the sum over k of left[row][k] * right[k][column]. Matrices lie row by row; one that is transposed lies column by
// column. Include local_size.glsl and grid.glsl before it, and define TILE_M and TILE_N: rows and columns of a workgroup.
#ifndef MATMUL_GLSL
#define MATMUL_GLSL

// How the matrices lie.
layout(constant_id = 5) const bool LEFT_TRANSPOSED = false;
layout(constant_id = 6) const bool RIGHT_TRANSPOSED = false;

// Rows of tiles in a band.
const uint BAND = 8;

// Rows of the result, and so of the left matrix; columns of the result, and so of the right matrix; columns of the left matrix, which are
// as many as the right one's rows.
#ifdef CONSTANT_SIZES
layout(constant_id = 15) const uint rows = 1u;
layout(constant_id = 16) const uint columns = 1u;
layout(constant_id = 17) const uint inner = 1u;
#else
layout(push_constant) uniform Push {
    uint rows;
    uint columns;
    uint inner;
};
#endif

uvec2 all_tiles() {
    return uvec2((columns + TILE_N - 1) / TILE_N, (rows + TILE_M - 1) / TILE_M);
}

// The grid may be larger than the tiles are many: that is the same for all of a workgroup.
bool has_tile() {
    const uvec2 tiles = all_tiles();
    return linear_group() < tiles.x * tiles.y;
}

// The first column and row of the workgroup's tile. Workgroups go down through a band of tiles before they go on to the next column:
// those that run at the same time have few rows and few columns together, which caches may hold.
uvec2 own_tile() {
    const uvec2 tiles = all_tiles();
    const uint band = linear_group() / (BAND * tiles.x);
    const uint height = min(BAND, tiles.y - band * BAND);
    const uint i = linear_group() % (BAND * tiles.x);
    return uvec2(i / height * TILE_N, (band * BAND + i % height) * TILE_M);
}

#endif
