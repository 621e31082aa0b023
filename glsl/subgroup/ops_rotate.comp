#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_rotate : require
#include "ops.glsl"

// CLUSTER_SIZE is a macro: the size must be a constant that isn't specialized, and a device may have the one rotation and not the
// other, so that a module must not ask for both.
#ifdef CLUSTER_SIZE

T rotated(T x) {
    return subgroupClusteredRotate(x, 1, CLUSTER_SIZE);
}

uint partner(Lane lane) {
    return (lane.id & ~uint(CLUSTER_SIZE - 1)) + ((lane.id + 1u) & uint(CLUSTER_SIZE - 1));
}

#else

T rotated(T x) {
    return subgroupRotate(x, 1);
}

uint partner(Lane lane) {
    return (lane.id + 1u) & (gl_SubgroupSize - 1u);
}

#endif

T advance(T x, Lane lane, uint number) {
    return stir(given(rotated(x), x, partner(lane), lane), lane.term);
}
