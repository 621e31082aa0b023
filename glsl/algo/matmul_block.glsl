// Which part of its workgroup's tile an invocation of algo/matmul has, where it has a block of its own. Include local_size.glsl before it.
#ifndef MATMUL_BLOCK_GLSL
#define MATMUL_BLOCK_GLSL

// Rows and columns of an invocation.
layout(constant_id = 3) const uint ITEMS_M = 4;
layout(constant_id = 4) const uint ITEMS_N = 4;

// Rows and columns of a workgroup: its invocations lie along columns in x and along rows in y.
const uint TILE_M = gl_WorkGroupSize.y * ITEMS_M;
const uint TILE_N = gl_WorkGroupSize.x * ITEMS_N;
const uint SIZE = gl_WorkGroupSize.x * gl_WorkGroupSize.y;

#endif
