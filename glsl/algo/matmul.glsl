// What all kernels of algo/matmul have in common: the problem, and which part of it a workgroup has. Include local_size.glsl and
// grid.glsl before it.
//
// sums[row][column] is the sum over k of left[row][k] * right[k][column]. Matrices lie row by row, transposed factors column by column.
#ifndef MATMUL_GLSL
#define MATMUL_GLSL

// The left factor is transposed, and the right one.
layout(constant_id = 3) const bool LEFT_TRANSPOSED = false;
layout(constant_id = 4) const bool RIGHT_TRANSPOSED = false;
// All tiles and steps are whole, and rows of all matrices are whole vectors of 16 bytes.
layout(constant_id = 5) const bool ALL_WHOLE = false;
// Rows of both factors are whole vectors, whether or not tiles are whole.
layout(constant_id = 6) const bool WHOLE_VECTORS = false;

layout(push_constant) uniform Push {
    uint rows;
    uint columns;
    // What is summed over.
    uint inner;
};

// Rows of each factor as it lies in memory, and how long they are.
uvec2 left_extent() {
    return LEFT_TRANSPOSED ? uvec2(inner, rows) : uvec2(rows, inner);
}

uvec2 right_extent() {
    return RIGHT_TRANSPOSED ? uvec2(columns, inner) : uvec2(inner, columns);
}

// The first row and column of the workgroup's tile. Workgroups that follow each other go down a band of tiles: those that run at a time
// have few rows and columns between them, which the last cache can hold. The grid may have more workgroups than there are tiles: theirs
// begin below the last row.
uvec2 own_place(uvec2 tile) {
    const uint BAND = 8u;
    const uint down = (rows + tile.x - 1u) / tile.x;
    const uint across = (columns + tile.y - 1u) / tile.y;
    const uint band = linear_group() / (BAND * across) * BAND;
    const uint high = clamp(down - min(down, band), 1u, BAND);
    const uint within = linear_group() - band * across;
    return uvec2(band + within % high, within / high) * tile;
}

// Whether all of a step's tiles is there, which is the same for all of a workgroup.
bool is_whole_step(uvec2 first, uvec2 tile, uint step, uint tile_k) {
    return ALL_WHOLE || (all(lessThanEqual(first + tile, uvec2(rows, columns))) && step + tile_k <= inner);
}

#endif
