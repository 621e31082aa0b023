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

// Words, and their places, that an invocation reads before it writes them.
const uint AT_ONCE = LOADS_FIRST ? UNROLL : 1;

// Writes the invocation's words, without a check where all of them are there.
void write(bool all) {
    uint places[AT_ONCE];
    uint words[AT_ONCE];
    [[unroll]] for (uint first = 0; first < UNROLL; first += AT_ONCE) {
        [[unroll]] for (uint k = 0; k < AT_ONCE; ++k) {
            const uint i = own_element(first + k);
            if (all || i < elements) {
                places[k] = indexes[i];
                words[k] = source[i];
            }
        }
        [[unroll]] for (uint k = 0; k < AT_ONCE; ++k) {
            if (all || own_element(first + k) < elements) {
                target_words[places[k]] = words[k];
            }
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
