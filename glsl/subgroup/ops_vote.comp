#version 450
#extension GL_KHR_shader_subgroup_vote : require
#include "ops.glsl"

// In the order of the axis `op`.
const uint ALL = 0, ANY = 1;

// One operand in 64 lies below: so lanes often agree and often don't.
#if defined(REAL)
#define RARE T(1.015625)
#elif WIDTH == 64 && defined(SIGNED)
#define RARE (-0x7C00000000000000l)
#elif WIDTH == 64
#define RARE 0x0400000000000000ul
#elif defined(SIGNED)
#define RARE T(-(0x1F << (WIDTH - 6)))
#else
#define RARE T(1u << (WIDTH - 6))
#endif

bool vote(T x) {
    if (OP == ALL) return subgroupAll(x >= RARE);
    if (OP == ANY) return subgroupAny(x < RARE);
    return subgroupAllEqual(min(x, RARE));
}

T advance(T x, Lane lane, uint number) {
    return stir_bool(x, vote(x), lane);
}
