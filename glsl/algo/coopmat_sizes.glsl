// Sizes of a product by subgroups on cooperative matrices: those of a workgroup's tile follow from them.
//
// A is the type of the matrices, A_BYTES its size; C is the type of the sums.
#ifndef COOPMAT_SIZES_GLSL
#define COOPMAT_SIZES_GLSL
#ifndef A
#error "A, A_BYTES and C must be defined"
#endif

// How far a step goes along what is summed: whole matrices, and whole vectors.
layout(constant_id = 9) const uint TILE_K = 32u;
// Sums of a subgroup, in a column and in a row.
layout(constant_id = 20) const uint TILES_M = 4u;
layout(constant_id = 21) const uint TILES_N = 4u;
// Rows and columns of a sum, and what a product runs over.
layout(constant_id = 10) const uint M = 16u;
layout(constant_id = 11) const uint N = 16u;
layout(constant_id = 12) const uint K = 16u;
// How the subgroups lie in the workgroup's tile.
layout(constant_id = 13) const uint SUBGROUPS_M = 2u;
layout(constant_id = 14) const uint SUBGROUPS_N = 2u;

const uint TILE_M = SUBGROUPS_M * TILES_M * M;
const uint TILE_N = SUBGROUPS_N * TILES_N * N;

// Elements of a vector of 16 bytes.
const uint VECTOR = 16u / A_BYTES;

#endif
