#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"
#include "issue.glsl"

layout(set = 0, binding = 0) restrict readonly buffer Source { uvec4 source[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Target { uvec4 target[]; };

layout(push_constant) uniform Push {
    uint elements;
};

void main() {
    if (!LOADS_FIRST) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = own_element(k);
            if (i < elements) {
                target[i] = source[i];
            }
        }
        return;
    }
    uvec4 held[UNROLL];
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            held[k] = source[i];
        }
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            target[i] = held[k];
        }
    }
}
