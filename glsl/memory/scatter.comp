#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

layout(push_constant) uniform Push {
    uint elements;
};

layout(set = 0, binding = 0) restrict writeonly buffer Target { uint target_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer Indexes { uint indexes[]; };
layout(set = 0, binding = 2) restrict readonly buffer Source { uint source[]; };

void main() {
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            target_words[indexes[i]] = source[i];
        }
    }
}
