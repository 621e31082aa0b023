#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#ifdef WORKGROUP
#extension GL_NV_cooperative_matrix2 : require
#endif
#ifdef BFLOAT16
#extension GL_EXT_bfloat16 : require
#endif
#include "local_size.glsl"

// Products of matrices, from registers alone: each subgroup (or workgroup) keeps TILES_M x TILES_N sums, which don't depend on each
// other, and adds products of the same few matrices to them again and again.
//
// A is the type of the matrices, A_BYTES its size; C and C_BYTES those of the sums.
#ifndef A
#error "A, A_BYTES, C and C_BYTES must be defined"
#endif

// Rows and columns of a sum, and what a product runs over.
layout(constant_id = 3) const uint M = 16u;
layout(constant_id = 4) const uint N = 16u;
layout(constant_id = 5) const uint K = 16u;
layout(constant_id = 6) const uint TILES_M = 2u;
layout(constant_id = 7) const uint TILES_N = 2u;

// Iterations of a round, two products for each sum in each.
const uint ITERATIONS = 8u;

// Different matrices in memory.
const uint SETS = 64u;

layout(set = 0, binding = 0) writeonly buffer Sums {
    uint sums[];
};
layout(set = 0, binding = 1) readonly buffer Left {
    uint left[];
};
layout(set = 0, binding = 2) readonly buffer Right {
    uint right[];
};

// No compiler knows how many rounds there are.
layout(push_constant) uniform Push {
    uint rounds;
};

#ifdef WORKGROUP
#define SCOPE gl_ScopeWorkgroup
#else
#define SCOPE gl_ScopeSubgroup
#endif
#define LEFT coopmat<A, SCOPE, M, K, gl_MatrixUseA>
#define RIGHT coopmat<A, SCOPE, K, N, gl_MatrixUseB>
#define SUM coopmat<C, SCOPE, M, N, gl_MatrixUseAccumulator>

LEFT load_left(uint index) {
    LEFT matrix;
    const uint words = K * A_BYTES / 4u;
    coopMatLoad(matrix, left, (index % SETS) * M * words, words, gl_CooperativeMatrixLayoutRowMajor);
    return matrix;
}

RIGHT load_right(uint index) {
    RIGHT matrix;
    const uint words = N * A_BYTES / 4u;
    coopMatLoad(matrix, right, (index % SETS) * K * words, words, gl_CooperativeMatrixLayoutRowMajor);
    return matrix;
}

void main() {
#ifdef WORKGROUP
    const uint unit = gl_WorkGroupID.x;
#else
    const uint unit = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
#endif
    LEFT first[TILES_M];
    LEFT second[TILES_M];
    RIGHT factor[TILES_N];
    SUM tiles[TILES_M * TILES_N];
    [[unroll]] for (uint i = 0u; i < TILES_M; i++) {
        first[i] = load_left(unit * TILES_M + i);
#ifdef CANCEL
        // Sums of few bits stay exact where every second product takes the one before back.
        second[i] = -first[i];
#else
        second[i] = load_left(unit * TILES_M + i + SETS / 2u);
#endif
    }
    const LEFT third = load_left(unit + SETS / 4u);
    [[unroll]] for (uint j = 0u; j < TILES_N; j++) {
        factor[j] = load_right(unit * TILES_N + j);
    }
    [[unroll]] for (uint t = 0u; t < TILES_M * TILES_N; t++) {
        tiles[t] = SUM(C(0));
    }
    for (uint round = 0u; round < rounds; round++) {
        [[dont_unroll]] for (uint iteration = 0u; iteration < ITERATIONS; iteration++) {
            [[unroll]] for (uint i = 0u; i < TILES_M; i++) {
                [[unroll]] for (uint j = 0u; j < TILES_N; j++) {
                    tiles[i * TILES_N + j] = coopMatMulAdd(first[i], factor[j], tiles[i * TILES_N + j]);
                }
            }
            [[unroll]] for (uint i = 0u; i < TILES_M; i++) {
                [[unroll]] for (uint j = 0u; j < TILES_N; j++) {
                    tiles[i * TILES_N + j] = coopMatMulAdd(second[i], factor[j], tiles[i * TILES_N + j]);
                }
            }
        }
        [[unroll]] for (uint i = 0u; i < TILES_M; i++) {
            [[unroll]] for (uint j = 0u; j < TILES_N; j++) {
                tiles[i * TILES_N + j] = coopMatMulAdd(third, factor[j], tiles[i * TILES_N + j]);
            }
        }
    }
    const uint words = N * C_BYTES / 4u;
    [[unroll]] for (uint t = 0u; t < TILES_M * TILES_N; t++) {
        const uint index = unit * TILES_M * TILES_N + t;
        coopMatStore(tiles[t], sums, index * M * words, words, gl_CooperativeMatrixLayoutRowMajor);
    }
}
