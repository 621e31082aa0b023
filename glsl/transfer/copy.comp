#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// Elements per invocation: they don't depend on each other, so this many can be in flight.
layout(constant_id = 3) const uint UNROLL = 4;

layout(set = 0, binding = 0) restrict readonly buffer Source { uvec4 source[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Target { uvec4 target[]; };

layout(push_constant) uniform Push {
    uint elements;
};

// Neighbouring invocations copy neighbouring elements; one invocation's own lie a workgroup apart.
void main() {
    const uint first = linear_group() * gl_WorkGroupSize.x * UNROLL + gl_LocalInvocationID.x;
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = first + k * gl_WorkGroupSize.x;
        if (i < elements) {
            target[i] = source[i];
        }
    }
}
