#version 450
#extension GL_KHR_shader_subgroup_vote : require
#include "ops.glsl"

// In the order of the axis `op`.
const uint ALL = 0, ANY = 1;

// One operand in 64 lies below: so lanes often agree and often don't.
#if defined(F32)
#define RARE 1.015625
#elif defined(I32)
#define RARE (-0x7C000000)
#else
#define RARE 0x04000000u
#endif

bool vote(T x) {
    if (OP == ALL) return subgroupAll(x >= RARE);
    if (OP == ANY) return subgroupAny(x < RARE);
    return subgroupAllEqual(min(x, RARE));
}

T advance(T x, Lane lane, uint number) {
    return stir_bool(x, vote(x), lane);
}
