#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"
#include "issue.glsl"

layout(push_constant) uniform Push {
    uint elements;
};

layout(set = 0, binding = 0) restrict writeonly buffer Target { uint target_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer Indexes { uint indexes[]; };
layout(set = 0, binding = 2) restrict readonly buffer Source { uint source[]; };

// Writes the invocation's words, without a check where all of them are there.
void write(bool all) {
    if (!LOADS_FIRST) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = own_element(k);
            if (all || i < elements) {
                target_words[indexes[i]] = source[i];
            }
        }
        return;
    }
    uint places[UNROLL];
    uint words[UNROLL];
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (all || i < elements) {
            places[k] = indexes[i];
            words[k] = source[i];
        }
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        if (all || own_element(k) < elements) {
            target_words[places[k]] = words[k];
        }
    }
}

void main() {
    if (BY_TILE && next_first_element() <= elements) {
        write(true);
    } else {
        write(false);
    }
}
