#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

layout(push_constant) uniform Push {
    uint elements;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer Indexes { uint indexes[]; };
layout(set = 0, binding = 2) restrict readonly buffer Source { uint source[]; };

void main() {
    uint sum = 0u;
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            sum += source[indexes[i]];
        }
    }
    sums[own_result()] = sum;
}
