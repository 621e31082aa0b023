// The subgroups of a reduction's workgroup. Include local_size.glsl before it.
#ifndef REDUCTION_SUBGROUPS_GLSL
#define REDUCTION_SUBGROUPS_GLSL

// At least as many as a workgroup has.
layout(constant_id = 3) const uint SUBGROUPS = 1;

// As many as it has. Not every driver counts one that lacks lanes in gl_NumSubgroups.
uint subgroups() {
    return (gl_WorkGroupSize.x + gl_SubgroupSize - 1u) / gl_SubgroupSize;
}

// Lanes of the invocation's subgroup: the last one may lack some.
uint lanes() {
    return min(gl_SubgroupSize, gl_WorkGroupSize.x - gl_SubgroupID * gl_SubgroupSize);
}

#endif
