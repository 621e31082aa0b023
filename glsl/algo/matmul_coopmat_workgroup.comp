#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#ifdef BFLOAT16
#extension GL_EXT_bfloat16 : require
#endif
#include "local_size.glsl"
#include "grid.glsl"

// Products by workgroups: a workgroup has one cooperative matrix of sums, and the driver says how its invocations share the work.

// Rows and columns of the workgroup's sum.
layout(constant_id = 10) const uint TILE_M = 128u;
layout(constant_id = 11) const uint TILE_N = 128u;
// How far a step goes along what is summed.
layout(constant_id = 9) const uint TILE_K = 32u;

#include "matmul.glsl"
#include "matmul_coopmat.glsl"

layout(set = 0, binding = 0) restrict readonly buffer Left { A left_elements[]; };
layout(set = 0, binding = 1) restrict readonly buffer Right { A right_elements[]; };

#define LEFT coopmat<A, gl_ScopeWorkgroup, TILE_M, TILE_K, gl_MatrixUseA>
#define RIGHT coopmat<A, gl_ScopeWorkgroup, TILE_K, TILE_N, gl_MatrixUseB>
#define SUM coopmat<C, gl_ScopeWorkgroup, TILE_M, TILE_N, gl_MatrixUseAccumulator>

// What lies beyond a tensor's end is zero.
#define TENSOR tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV>
TENSOR tensor(uint height, uint width) {
    TENSOR layout_of = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    return setTensorLayoutDimensionNV(layout_of, height, width);
}

// A tensor's rows as columns.
#define TURNED createTensorViewNV(2, false, 1, 0)

LEFT load_left(uint row, uint step) {
    LEFT matrix;
    if (ALL_WHOLE && LEFT_TRANSPOSED) {
        coopMatLoad(matrix, left_elements, step * rows + row, rows, gl_CooperativeMatrixLayoutColumnMajor);
    } else if (ALL_WHOLE) {
        coopMatLoad(matrix, left_elements, row * inner + step, inner, gl_CooperativeMatrixLayoutRowMajor);
    } else if (LEFT_TRANSPOSED) {
        coopMatLoadTensorNV(matrix, left_elements, 0u, sliceTensorLayoutNV(tensor(inner, rows), step, TILE_K, row, TILE_M), TURNED);
    } else {
        coopMatLoadTensorNV(matrix, left_elements, 0u, sliceTensorLayoutNV(tensor(rows, inner), row, TILE_M, step, TILE_K));
    }
    return matrix;
}

RIGHT load_right(uint step, uint column) {
    RIGHT matrix;
    if (ALL_WHOLE && RIGHT_TRANSPOSED) {
        coopMatLoad(matrix, right_elements, column * inner + step, inner, gl_CooperativeMatrixLayoutColumnMajor);
    } else if (ALL_WHOLE) {
        coopMatLoad(matrix, right_elements, step * columns + column, columns, gl_CooperativeMatrixLayoutRowMajor);
    } else if (RIGHT_TRANSPOSED) {
        coopMatLoadTensorNV(matrix, right_elements, 0u, sliceTensorLayoutNV(tensor(columns, inner), column, TILE_N, step, TILE_K), TURNED);
    } else {
        coopMatLoadTensorNV(matrix, right_elements, 0u, sliceTensorLayoutNV(tensor(inner, columns), step, TILE_K, column, TILE_N));
    }
    return matrix;
}

void main() {
    if (!has_tile()) {
        return;
    }
    const uvec2 first = own_tile().yx;
    SUM sum = SUM(C(0));
    [[dont_unroll]] for (uint step = 0u; step < inner; step += TILE_K) {
        const LEFT left = load_left(first.x, step);
        const RIGHT right = load_right(step, first.y);
        sum = coopMatMulAdd(left, right, sum);
    }
    if (ALL_WHOLE) {
        coopMatStore(sum, sums, first.x * columns + first.y, columns, gl_CooperativeMatrixLayoutRowMajor);
    } else {
        coopMatStoreTensorNV(sum, sums, 0u, sliceTensorLayoutNV(tensor(rows, columns), first.x, TILE_M, first.y, TILE_N));
    }
}
