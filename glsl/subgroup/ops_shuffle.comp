#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
#include "ops.glsl"

// In the order of the axis `op`.
const uint SHUFFLE = 0;

T advance(T x, Lane lane, uint number) {
    if (OP == SHUFFLE) return stir(subgroupShuffle(x, lane.pick), lane.term);
    return stir(given(subgroupShuffleXor(x, 1), x, lane.id ^ 1u, lane), lane.term);
}
