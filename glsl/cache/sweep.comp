#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "chain.glsl"

layout(push_constant) uniform Push {
    uint count;
};

layout(set = 0, binding = 0) restrict writeonly buffer Swept { uint swept[]; };
layout(set = 0, binding = 1) restrict readonly buffer Nodes { uint nodes[]; };

// Loads of an invocation side by side: none waits for another one, as they do in the walk.
const uint UNROLL = 16;

// Reads all nodes, so that the caches hold what they can of them. One workgroup does, as one walks: where a cache has parts of
// which each keeps what the processors near it ask for (two in an H100's last cache), many workgroups would put the nodes into
// parts that are far from the walk, and some nodes into more than one.
void main() {
    const uint self = gl_LocalInvocationID.x;
    uint sum = 0u;
    for (uint first = self; first < count; first += gl_WorkGroupSize.x * UNROLL) {
        [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
            const uint node = first + k * gl_WorkGroupSize.x;
            if (node < count) {
                sum += nodes[first_word(node)];
            }
        }
    }
    swept[self] = sum;
}
