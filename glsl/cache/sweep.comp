#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "chain.glsl"

layout(push_constant) uniform Push {
    uint count;
};

layout(set = 0, binding = 0) restrict writeonly buffer Swept { uint swept[]; };
layout(set = 0, binding = 1) restrict readonly buffer Nodes { uint nodes[]; };

// Nodes of an invocation: many, so that what is written takes little room in the caches beside what is read.
const uint UNROLL = 16;

// Reads all nodes, so that the caches hold what they can of them.
void main() {
    const uint first = linear_group() * gl_WorkGroupSize.x * UNROLL + gl_LocalInvocationID.x;
    uint sum = 0u;
    [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
        const uint node = first + k * gl_WorkGroupSize.x;
        if (node < count) {
            sum += nodes[first_word(node)];
        }
    }
    swept[linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x] = sum;
}
