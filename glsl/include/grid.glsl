#ifndef GRID_GLSL
#define GRID_GLSL

// Index of this workgroup in a one-dimensional grid that the host folded over x and y: many devices allow no more than 65,535
// workgroups along one dimension. The grid may be larger than asked for, so kernels check their bounds.
uint linear_group() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

#endif
