#version 450
#extension GL_KHR_shader_subgroup_clustered : require
#include "arithmetic.glsl"

// Lanes that are reduced together, a power of two; a macro, since it must be a constant that isn't specialized.
#ifndef CLUSTER_SIZE
#define CLUSTER_SIZE 4
#endif

#if REDUCTION == ADD
#define REDUCED(x) subgroupClusteredAdd(x, CLUSTER_SIZE)
#elif REDUCTION == MUL
#define REDUCED(x) subgroupClusteredMul(x, CLUSTER_SIZE)
#elif REDUCTION == MIN
#define REDUCED(x) subgroupClusteredMin(x, CLUSTER_SIZE)
#elif REDUCTION == MAX
#define REDUCED(x) subgroupClusteredMax(x, CLUSTER_SIZE)
#elif REDUCTION == AND
#define REDUCED(x) subgroupClusteredAnd(x, CLUSTER_SIZE)
#elif REDUCTION == OR
#define REDUCED(x) subgroupClusteredOr(x, CLUSTER_SIZE)
#elif REDUCTION == XOR
#define REDUCED(x) subgroupClusteredXor(x, CLUSTER_SIZE)
#endif

T advance(T x, Lane lane, uint number) {
    return stir(REDUCED(operand(x, lane)), lane.term);
}
