#version 450
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "ops.glsl"

// In the order of the axis `op`.
const uint UP = 0;

T advance(T x, Lane lane, uint number) {
    if (OP == UP) return stir(given(subgroupShuffleUp(x, 1), x, lane.id - 1u, lane), lane.term); // lane 0 has no partner
    return stir(given(subgroupShuffleDown(x, 1), x, lane.id + 1u, lane), lane.term);
}
