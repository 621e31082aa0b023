#version 450
#extension GL_KHR_shader_subgroup_basic : require
#include "ops.glsl"

T advance(T x, Lane lane, uint number) {
    return stir_bool(x, subgroupElect(), lane);
}
