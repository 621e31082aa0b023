#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_clustered : require
#include "arithmetic.glsl"

// Lanes that are folded together, a power of two; a macro, since it must be a constant that isn't specialized.
#ifndef CLUSTER_SIZE
#define CLUSTER_SIZE 4
#endif

T reduce(T x) {
    if (FOLD == ADD) return subgroupClusteredAdd(x, CLUSTER_SIZE);
    if (FOLD == MUL) return subgroupClusteredMul(x, CLUSTER_SIZE);
    if (FOLD == MIN) return subgroupClusteredMin(x, CLUSTER_SIZE);
    if (FOLD == MAX) return subgroupClusteredMax(x, CLUSTER_SIZE);
#ifndef F32
    if (FOLD == AND) return subgroupClusteredAnd(x, CLUSTER_SIZE);
    if (FOLD == OR) return subgroupClusteredOr(x, CLUSTER_SIZE);
    if (FOLD == XOR) return subgroupClusteredXor(x, CLUSTER_SIZE);
#endif
    return x;
}

T advance(T x, Lane lane, uint number) {
    return stir(reduce(operand(x, lane)), lane.term);
}
