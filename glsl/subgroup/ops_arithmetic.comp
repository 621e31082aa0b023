#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "arithmetic.glsl"

// In the order of the axis `op`: every fold over the whole subgroup, then up to the own lane, then below it.
const uint REDUCE = 0, INCLUSIVE = 1;
#define REACH (OP / FOLDS)

T reduce(T x) {
    if (FOLD == ADD) return subgroupAdd(x);
    if (FOLD == MUL) return subgroupMul(x);
    if (FOLD == MIN) return subgroupMin(x);
    if (FOLD == MAX) return subgroupMax(x);
#ifndef F32
    if (FOLD == AND) return subgroupAnd(x);
    if (FOLD == OR) return subgroupOr(x);
    if (FOLD == XOR) return subgroupXor(x);
#endif
    return x;
}

T inclusive(T x) {
    if (FOLD == ADD) return subgroupInclusiveAdd(x);
    if (FOLD == MUL) return subgroupInclusiveMul(x);
    if (FOLD == MIN) return subgroupInclusiveMin(x);
    if (FOLD == MAX) return subgroupInclusiveMax(x);
#ifndef F32
    if (FOLD == AND) return subgroupInclusiveAnd(x);
    if (FOLD == OR) return subgroupInclusiveOr(x);
    if (FOLD == XOR) return subgroupInclusiveXor(x);
#endif
    return x;
}

T exclusive(T x) {
    if (FOLD == ADD) return subgroupExclusiveAdd(x);
    if (FOLD == MUL) return subgroupExclusiveMul(x);
    if (FOLD == MIN) return subgroupExclusiveMin(x);
    if (FOLD == MAX) return subgroupExclusiveMax(x);
#ifndef F32
    if (FOLD == AND) return subgroupExclusiveAnd(x);
    if (FOLD == OR) return subgroupExclusiveOr(x);
    if (FOLD == XOR) return subgroupExclusiveXor(x);
#endif
    return x;
}

T advance(T x, Lane lane, uint number) {
    const T own = operand(x, lane);
    if (REACH == REDUCE) return stir(reduce(own), lane.term);
    if (REACH == INCLUSIVE) return stir(inclusive(own), lane.term);
    return stir(exclusive(own), lane.term);
}
