#version 450
#include "local_size.glsl"

// The least that a dispatch can do so that its result tells of it: a step on from what the word held. Dispatches that take turns
// on one word leave what their order makes of it; a step that was left out, doubled or ran too early shows.

layout(constant_id = 3) const uint FACTOR = 5u;

layout(set = 0, binding = 0) buffer Words {
    uint words[];
};

layout(push_constant) uniform Push {
    uint index;
    uint term;
};

void main() {
    words[index] = words[index] * FACTOR + term;
}
