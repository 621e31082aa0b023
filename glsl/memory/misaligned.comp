#version 450
#extension GL_EXT_control_flow_attributes : require

// What the offset counts is a macro: bytes in a buffer are something that not every device has.
#ifdef BYTES
#extension GL_EXT_shader_8bit_storage : require
#define UNIT uint8_t
#else
#define UNIT uint
#endif

#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// Units from the beginning of the buffer to the first one that is read.
layout(constant_id = 3) const uint OFFSET = 0;
// Units in an element.
layout(constant_id = 5) const uint WIDTH = 1;

layout(push_constant) uniform Push {
    uint elements;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer Data { UNIT data[]; };

void main() {
    uint sum = 0u;
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            // One by one: a vector can't begin anywhere else than at a multiple of its size.
            [[unroll]] for (uint component = 0; component < WIDTH; ++component) {
                sum += uint(data[i * WIDTH + component + OFFSET]);
            }
        }
    }
    sums[own_result()] = sum;
}
