#version 450
#extension GL_KHR_shader_subgroup_clustered : require
#include "arithmetic.glsl"

// Lanes that are folded together, a power of two; a macro, since it must be a constant that isn't specialized.
#ifndef CLUSTER_SIZE
#define CLUSTER_SIZE 4
#endif

#if FOLD == ADD
#define REDUCED(x) subgroupClusteredAdd(x, CLUSTER_SIZE)
#elif FOLD == MUL
#define REDUCED(x) subgroupClusteredMul(x, CLUSTER_SIZE)
#elif FOLD == MIN
#define REDUCED(x) subgroupClusteredMin(x, CLUSTER_SIZE)
#elif FOLD == MAX
#define REDUCED(x) subgroupClusteredMax(x, CLUSTER_SIZE)
#elif FOLD == AND
#define REDUCED(x) subgroupClusteredAnd(x, CLUSTER_SIZE)
#elif FOLD == OR
#define REDUCED(x) subgroupClusteredOr(x, CLUSTER_SIZE)
#elif FOLD == XOR
#define REDUCED(x) subgroupClusteredXor(x, CLUSTER_SIZE)
#endif

T advance(T x, Lane lane, uint number) {
    return stir(REDUCED(operand(x, lane)), lane.term);
}
