#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "reduce_own.glsl"

// Zero at first.
layout(set = 0, binding = 0) restrict buffer Result { uint result[]; };

// Every invocation adds its sum to the one result.
void main() {
    atomicAdd(result[0], own_sum());
}
