// What the kernels of algo/blur share: the filter, and a picture that it is applied to. RADIUS is a constant, so that loops over taps
// can be unrolled.
#ifndef BLUR_GLSL
#define BLUR_GLSL

// Pixels to either side that count.
layout(constant_id = 3) const int RADIUS = 2;
// Pixels that an invocation makes, side by side.
layout(constant_id = 4) const int ITEMS = 1;

const int TAPS = 2 * RADIUS + 1;
// Taps of the largest radius, 64.
const int MOST_TAPS = 129;

// The weights along an axis, which add up to 1. Of each tap: its own; that of itself and the next one together; and how far
// between the two, from itself on, a linear filter has to sample to weigh both.
layout(set = 0, binding = 0) uniform Filter { vec4 taps[MOST_TAPS]; };

layout(set = 0, binding = 1) uniform texture2D source;

layout(push_constant) uniform Push {
    // Width and height of the picture.
    int size;
};

float weight(int tap) {
    return taps[tap].x;
}

// The pixel there; beyond an edge, the one at the edge.
vec4 pixel_at(ivec2 place) {
    return texelFetch(source, clamp(place, ivec2(0), ivec2(size - 1)), 0);
}

#endif
