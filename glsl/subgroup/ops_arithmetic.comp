#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "arithmetic.glsl"

// In the order of the axis `op`: every reduction over the whole subgroup, then up to the own lane, then below it.
#define REDUCE 0
#define INCLUSIVE 1
#define REACH (OP / REDUCTIONS)

#if REDUCTION == ADD
#define REDUCED(x) subgroupAdd(x)
#define UP_TO(x) subgroupInclusiveAdd(x)
#define BELOW(x) subgroupExclusiveAdd(x)
#elif REDUCTION == MUL
#define REDUCED(x) subgroupMul(x)
#define UP_TO(x) subgroupInclusiveMul(x)
#define BELOW(x) subgroupExclusiveMul(x)
#elif REDUCTION == MIN
#define REDUCED(x) subgroupMin(x)
#define UP_TO(x) subgroupInclusiveMin(x)
#define BELOW(x) subgroupExclusiveMin(x)
#elif REDUCTION == MAX
#define REDUCED(x) subgroupMax(x)
#define UP_TO(x) subgroupInclusiveMax(x)
#define BELOW(x) subgroupExclusiveMax(x)
#elif REDUCTION == AND
#define REDUCED(x) subgroupAnd(x)
#define UP_TO(x) subgroupInclusiveAnd(x)
#define BELOW(x) subgroupExclusiveAnd(x)
#elif REDUCTION == OR
#define REDUCED(x) subgroupOr(x)
#define UP_TO(x) subgroupInclusiveOr(x)
#define BELOW(x) subgroupExclusiveOr(x)
#elif REDUCTION == XOR
#define REDUCED(x) subgroupXor(x)
#define UP_TO(x) subgroupInclusiveXor(x)
#define BELOW(x) subgroupExclusiveXor(x)
#endif

T advance(T x, Lane lane, uint number) {
    const T own = operand(x, lane);
#if REACH == REDUCE
    return stir(REDUCED(own), lane.term);
#elif REACH == INCLUSIVE
    return stir(UP_TO(own), lane.term);
#else
    return stir(BELOW(own), lane.term);
#endif
}
