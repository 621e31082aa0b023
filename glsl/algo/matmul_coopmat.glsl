// What the kernels of algo/matmul on cooperative matrices have in common. Include matmul.glsl before it.
//
// A is the type of the matrices, A_BYTES its size; C is the type of the sums.
#ifndef MATMUL_COOPMAT_GLSL
#define MATMUL_COOPMAT_GLSL
#ifndef A
#error "A, A_BYTES and C must be defined"
#endif

// All tiles and steps are whole, and rows of all matrices are whole vectors of 16 bytes.
layout(constant_id = 7) const bool ALL_WHOLE = false;
// Rows of both factors are whole vectors, whether or not tiles are whole.
layout(constant_id = 8) const bool WHOLE_VECTORS = false;
layout(set = 0, binding = 2) restrict writeonly buffer Sums { C sums[]; };

#endif
