#version 450
#extension GL_KHR_shader_subgroup_quad : require
#include "ops.glsl"

// In the order of the axis `op`, after the broadcasts of lanes 0 to 3.
const uint HORIZONTAL = 4, VERTICAL = 5;

T moved(T x, Lane lane) {
    if (OP < HORIZONTAL) return given(subgroupQuadBroadcast(x, OP), x, (lane.id & ~3u) + OP, lane);
    if (OP == HORIZONTAL) return given(subgroupQuadSwapHorizontal(x), x, lane.id ^ 1u, lane);
    if (OP == VERTICAL) return given(subgroupQuadSwapVertical(x), x, lane.id ^ 2u, lane);
    return given(subgroupQuadSwapDiagonal(x), x, lane.id ^ 3u, lane);
}

T advance(T x, Lane lane, uint number) {
    return stir(moved(x, lane), lane.term);
}
