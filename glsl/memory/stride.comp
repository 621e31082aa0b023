#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// Words from one lane to the next.
layout(constant_id = 3) const uint STRIDE = 1;
// Leads from one sweep's first word to the next one's: it shares no factor with STRIDE, so that every sweep has its own.
layout(constant_id = 5) const uint STEP = 1;

layout(push_constant) uniform Push {
    uint words;
};

// A sweep takes every STRIDE-th word, from its first one on; a z of the grid is a sweep. All of them together take each word once.
uint first_word() {
    return gl_WorkGroupID.z * STEP % STRIDE;
}

// How many words the sweep takes.
uint count(uint first) {
    return words / STRIDE + (first < words % STRIDE ? 1 : 0);
}

// READ is a macro: it has an input, and its result has another type.
#ifdef READ

layout(set = 0, binding = 0) restrict writeonly buffer Sums { float sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer A { float a[]; };

void main() {
    const uint first = first_word();
    const uint end = count(first);
    float sum = 0.0;
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < end) {
            sum += a[i * STRIDE + first];
        }
    }
    const uint group = gl_WorkGroupID.z * gl_NumWorkGroups.y * gl_NumWorkGroups.x + linear_group();
    sums[group * gl_WorkGroupSize.x + gl_LocalInvocationID.x] = sum;
}

#else

layout(set = 0, binding = 0) restrict writeonly buffer C { uint c[]; };

// Words that differ between neighbours: constant data would let some devices compress their writes.
uint value(uint word) {
    return (word * 2654435761u) >> 1;
}

void main() {
    const uint first = first_word();
    const uint end = count(first);
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < end) {
            const uint word = i * STRIDE + first;
            c[word] = value(word);
        }
    }
}

#endif
