#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#include "local_size.glsl"
#include "grid.glsl"
#include "argmax_keys.glsl"

// Zero at first.
layout(set = 0, binding = 0) restrict buffer Result { uint64_t result[]; };

// Every invocation offers its key to the one result.
void main() {
    atomicMax(result[0], pack64(own_key()));
}
