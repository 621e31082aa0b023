#version 450
#include "local_size.glsl"

// A fixed amount of dependent integer arithmetic: its time follows the core clock and nothing else.
layout(constant_id = 3) const uint STEPS = 256;

layout(set = 0, binding = 0) restrict writeonly buffer Result { uint result[]; };

void main() {
    uint x = gl_GlobalInvocationID.x;
    for (uint k = 0; k < STEPS; ++k) {
        x = x * 1664525u + 1013904223u;
    }
    result[gl_GlobalInvocationID.x] = x;
}
