// The workgroup size as specialization constants 0, 1 and 2: one module serves every size.
//
// Include this before anything that mentions gl_WorkGroupSize. glslang gives that name its value where it is first used, so that
// a use above this layout reads 1, 1, 1 for good, without a word of warning.
#ifndef LOCAL_SIZE_GLSL
#define LOCAL_SIZE_GLSL

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

#endif
