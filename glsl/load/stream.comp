#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"
#include "values.glsl"

// Loads of an invocation that are in flight at a time. All of its loads, UNROLL, are a multiple of them.
layout(constant_id = 3) const uint IN_FLIGHT = 16;
// Whether neighbouring elements are tiles of an image, and not parts of its lines.
layout(constant_id = 5) const bool BY_TILES = false;

layout(push_constant) uniform Push {
    uint elements;
    // An image's lines have 2^line_bits texels.
    uint line_bits;
};

// Texels of a tile: 8 along a line, in 4 lines.
const uint WIDTH_BITS = 3, HEIGHT_BITS = 2;

// The part of a number below a power of two.
uint below(uint bits, uint number) {
    return number & ((1u << bits) - 1u);
}

uvec2 place(uint index) {
    if (!BY_TILES) {
        return uvec2(below(line_bits, index), index >> line_bits);
    }
    const uint tile = index >> (WIDTH_BITS + HEIGHT_BITS);
    const uint tiles_bits = line_bits - WIDTH_BITS;
    const uvec2 first = uvec2(below(tiles_bits, tile) << WIDTH_BITS, (tile >> tiles_bits) << HEIGHT_BITS);
    return first + uvec2(below(WIDTH_BITS, index), below(HEIGHT_BITS, index >> WIDTH_BITS));
}

// Which path it is is a macro: each declares another resource.
#if defined(TEXEL_BUFFER) || defined(STORED_AS) || defined(FETCHED)

#define RESULT float
#include "texels.glsl"

VALUE load(uint index) {
    return CHANNELS(texel(index));
}

#else

// Sums wrap.
#define RESULT uint

layout(set = 0, binding = 1) restrict readonly buffer Values { VALUE values[]; };

VALUE load(uint index) {
    return values[index];
}

#endif

layout(set = 0, binding = 0) restrict writeonly buffer Results { RESULT results[]; };

// The sum of all elements of an invocation that has them: no branch lies between the loads of an iteration.
VALUE whole_sum() {
    VALUE total = VALUE(0);
    [[dont_unroll]] for (uint from = 0; from < UNROLL; from += IN_FLIGHT) {
        VALUE held[IN_FLIGHT];
        [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k) {
            held[k] = load(own_element(from + k));
        }
        VALUE sum = VALUE(0);
        [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k) {
            sum += held[k];
        }
        total += WHOLE(sum);
    }
    return total;
}

// The sum of those that are there, in the last workgroup that has any, and in those that the grid has beyond it.
VALUE partial_sum() {
    VALUE total = VALUE(0);
    [[dont_unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            total += WHOLE(load(i));
        }
    }
    return total;
}

void main() {
    const VALUE total = next_first_element() <= elements ? whole_sum() : partial_sum();
    results[own_result()] = COMBINED(total);
}
