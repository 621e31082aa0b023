#version 450
#include "local_size.glsl"
#include "grid.glsl"

layout(set = 0, binding = 0) restrict buffer Ballast { uint ballast[]; };

layout(push_constant) uniform Push {
    uint n;
};

// Reads and writes every word: what was cached before has to leave. The values differ, so that no device can compress them.
void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i < n) {
        ballast[i] += i * 2654435761u;
    }
}
