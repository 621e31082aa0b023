// Products by subgroups: a workgroup brings tiles of both factors into workgroup memory, and each of its subgroups multiplies its part of
// them as TILES_M x TILES_N cooperative matrices. The next step's loads are on their way while this one multiplies.
//
// Include coopmat_sizes.glsl before it, and define ROWS, COLUMNS and INNER (rows and columns of the result, and over how many products a
// sum goes), LEFT_TRANSPOSED, RIGHT_TRANSPOSED, ALL_WHOLE and a buffer of `sums`.
#ifndef COOPMAT_TILES_GLSL
#define COOPMAT_TILES_GLSL

const uint SIZE = gl_WorkGroupSize.x;

// Tiles lie in workgroup memory as they do in memory: rows of the left one run along what is summed, unless it is transposed; those of
// the right one along its columns.
const uint LEFT_ROWS = LEFT_TRANSPOSED ? TILE_K : TILE_M;
const uint LEFT_VECTORS = (LEFT_TRANSPOSED ? TILE_M : TILE_K) / VECTOR;
const uint RIGHT_ROWS = RIGHT_TRANSPOSED ? TILE_N : TILE_K;
const uint RIGHT_VECTORS = (RIGHT_TRANSPOSED ? TILE_K : TILE_N) / VECTOR;

// One vector of a row is unused: matrices are loaded from neighbouring rows at once, which then lie in different banks.
const uint LEFT_PITCH = LEFT_VECTORS + 1u;
const uint RIGHT_PITCH = RIGHT_VECTORS + 1u;

const uint LEFT_LOADS = (LEFT_ROWS * LEFT_VECTORS + SIZE - 1u) / SIZE;
const uint RIGHT_LOADS = (RIGHT_ROWS * RIGHT_VECTORS + SIZE - 1u) / SIZE;

shared uvec4 left_tile[LEFT_ROWS * LEFT_PITCH];
shared uvec4 right_tile[RIGHT_ROWS * RIGHT_PITCH];

// Sums on their way to rows that don't begin at whole vectors, or that end within a sum.
shared C sums_held[ALL_WHOLE ? 1u : SUBGROUPS_M * SUBGROUPS_N * M * N];

#define LEFT coopmat<A, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define RIGHT coopmat<A, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define SUM coopmat<C, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>

uvec4 left_held[LEFT_LOADS];
uvec4 right_held[RIGHT_LOADS];

// Row and vector of what an invocation loads of a tile whose rows have so many vectors. Eight neighbours store at a time: where a row
// has fewer vectors, they store to rows that are as far apart as it has vectors, which lie in different banks.
uvec2 place_in(uint i, uint vectors) {
    const uint row = i / vectors;
    const uint eighth = row % 8u;
    const uint at_a_time = max(8u / vectors, 1u);
    const uint moved = 8u % vectors == 0u ? row - eighth + eighth / at_a_time + eighth % at_a_time * vectors : row;
    return uvec2(moved, i % vectors);
}

// The includer says what is loaded of a step that begins here: of the left factor for an invocation's load of this number, and of the
// right one, each a vector at this row and vector of the tile.
void begin_step(uvec2 first, uint step);
uvec4 left_loaded(uint load, uvec2 place);
uvec4 right_loaded(uvec2 place);

void load_tiles(uvec2 first, uint step) {
    begin_step(first, step);
    [[unroll]] for (uint l = 0u; l < LEFT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        if (LEFT_ROWS * LEFT_VECTORS % SIZE == 0u || i < LEFT_ROWS * LEFT_VECTORS) {
            left_held[l] = left_loaded(l, place_in(i, LEFT_VECTORS));
        }
    }
    [[unroll]] for (uint l = 0u; l < RIGHT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        if (RIGHT_ROWS * RIGHT_VECTORS % SIZE == 0u || i < RIGHT_ROWS * RIGHT_VECTORS) {
            right_held[l] = right_loaded(place_in(i, RIGHT_VECTORS));
        }
    }
}

void store_tiles() {
    [[unroll]] for (uint l = 0u; l < LEFT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        if (LEFT_ROWS * LEFT_VECTORS % SIZE == 0u || i < LEFT_ROWS * LEFT_VECTORS) {
            const uvec2 place = place_in(i, LEFT_VECTORS);
            left_tile[place.x * LEFT_PITCH + place.y] = left_held[l];
        }
    }
    [[unroll]] for (uint l = 0u; l < RIGHT_LOADS; ++l) {
        const uint i = gl_LocalInvocationIndex + l * SIZE;
        if (RIGHT_ROWS * RIGHT_VECTORS % SIZE == 0u || i < RIGHT_ROWS * RIGHT_VECTORS) {
            const uvec2 place = place_in(i, RIGHT_VECTORS);
            right_tile[place.x * RIGHT_PITCH + place.y] = right_held[l];
        }
    }
}

LEFT left_matrix(uint row, uint step) {
    LEFT matrix;
    if (LEFT_TRANSPOSED) {
        coopMatLoad(matrix, left_tile, step * LEFT_PITCH + row / VECTOR, LEFT_PITCH, gl_CooperativeMatrixLayoutColumnMajor);
    } else {
        coopMatLoad(matrix, left_tile, row * LEFT_PITCH + step / VECTOR, LEFT_PITCH, gl_CooperativeMatrixLayoutRowMajor);
    }
    return matrix;
}

RIGHT right_matrix(uint step, uint column) {
    RIGHT matrix;
    if (RIGHT_TRANSPOSED) {
        coopMatLoad(matrix, right_tile, column * RIGHT_PITCH + step / VECTOR, RIGHT_PITCH, gl_CooperativeMatrixLayoutColumnMajor);
    } else {
        coopMatLoad(matrix, right_tile, step * RIGHT_PITCH + column / VECTOR, RIGHT_PITCH, gl_CooperativeMatrixLayoutRowMajor);
    }
    return matrix;
}

// Stores a sum of which some rows or columns may not be there.
void store_checked(SUM sum, uvec2 place) {
    const uint own = gl_SubgroupID * M * N;
    coopMatStore(sum, sums_held, own, N, gl_CooperativeMatrixLayoutRowMajor);
    subgroupBarrier();
    for (uint i = gl_SubgroupInvocationID; i < M * N; i += gl_SubgroupSize) {
        const uvec2 at = place + uvec2(i / N, i % N);
        if (at.x < ROWS && at.y < COLUMNS) {
            sums[at.x * COLUMNS + at.y] = sums_held[own + i];
        }
    }
    // The next sum takes its place.
    subgroupBarrier();
}

// Multiplies and stores the tile that begins at this row and column.
void multiply_tile(uvec2 first) {
    const uvec2 own = uvec2(gl_SubgroupID / SUBGROUPS_N * TILES_M * M, gl_SubgroupID % SUBGROUPS_N * TILES_N * N);
    SUM own_sums[TILES_M * TILES_N];
    [[unroll]] for (uint t = 0u; t < TILES_M * TILES_N; ++t) {
        own_sums[t] = SUM(C(0));
    }
    load_tiles(first, 0u);
    [[dont_unroll]] for (uint step = 0u; step < INNER; step += TILE_K) {
        store_tiles();
        barrier();
        if (step + TILE_K < INNER) {
            load_tiles(first, step + TILE_K);
        }
        [[unroll]] for (uint k = 0u; k < TILE_K; k += K) {
            LEFT left[TILES_M];
            RIGHT right[TILES_N];
            [[unroll]] for (uint i = 0u; i < TILES_M; ++i) {
                left[i] = left_matrix(own.x + i * M, k);
            }
            [[unroll]] for (uint j = 0u; j < TILES_N; ++j) {
                right[j] = right_matrix(k, own.y + j * N);
            }
            [[unroll]] for (uint i = 0u; i < TILES_M; ++i) {
                [[unroll]] for (uint j = 0u; j < TILES_N; ++j) {
                    own_sums[i * TILES_N + j] = coopMatMulAdd(left[i], right[j], own_sums[i * TILES_N + j]);
                }
            }
        }
        // All have used the tiles.
        barrier();
    }
    [[unroll]] for (uint i = 0u; i < TILES_M; ++i) {
        [[unroll]] for (uint j = 0u; j < TILES_N; ++j) {
            const uvec2 place = first + own + uvec2(i * M, j * N);
            if (ALL_WHOLE) {
                coopMatStore(own_sums[i * TILES_N + j], sums, place.x * COLUMNS + place.y, COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
            } else {
                store_checked(own_sums[i * TILES_N + j], place);
            }
        }
    }
}

#endif
