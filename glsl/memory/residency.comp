#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// WRITE is a macro: what it does with the buffer decides how that is declared.
#ifdef WRITE

// Word i of the buffer is `first` and i times `factor`, which is odd: no two of 2^32 are alike, and the host can sum them up without
// going through all.
layout(push_constant) uniform Push {
    uint elements;
    uint factor;
    uint first;
};

layout(set = 0, binding = 0) restrict writeonly buffer Memory { uvec4 memory[]; };

uvec4 words(uint i) {
    return first + factor * (4u * i + uvec4(0u, 1u, 2u, 3u));
}

void main() {
    [[dont_unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            memory[i] = words(i);
        }
    }
}

#else

// Loads that are in flight at one time: more than a few take registers from other subgroups.
const uint IN_FLIGHT = 8;

layout(push_constant) uniform Push {
    uint elements;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer Memory { uvec4 memory[]; };

uint sum_of(uvec4 element) {
    return element.x + element.y + element.z + element.w;
}

void main() {
    uint sum = 0u;
    [[dont_unroll]] for (uint k = 0; k < UNROLL; k += IN_FLIGHT) {
        uvec4 held[IN_FLIGHT];
        [[unroll]] for (uint j = 0; j < IN_FLIGHT; ++j) {
            const uint i = own_element(k + j);
            held[j] = i < elements ? memory[i] : uvec4(0u);
        }
        [[unroll]] for (uint j = 0; j < IN_FLIGHT; ++j) {
            sum += sum_of(held[j]);
        }
    }
    sums[own_result()] = sum;
}

#endif
