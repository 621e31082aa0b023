// What all kernels of algo/conv2d have in common: the problem, and which part of it a workgroup has.
//
// target[pixel][filter] is the sum over taps and channels of source[pixel moved by the tap][channel] * weights[tap][channel][filter].
// Pixels of all images have one index, row by row; what a tap finds outside of its image is zero. Include local_size.glsl and
// grid.glsl before it.
#ifndef CONV2D_GLSL
#define CONV2D_GLSL

// Edge of a filter, an odd number.
layout(constant_id = 3) const uint FILTER_SIZE = 3;

// Whether channels and filters are whole vectors: then so are loads and stores.
layout(constant_id = 6) const bool WHOLE_CHANNELS = true;
layout(constant_id = 7) const bool WHOLE_FILTERS = true;

const uint TAPS = FILTER_SIZE * FILTER_SIZE;
const int RADIUS = int(FILTER_SIZE / 2);

#ifndef COOPMAT_SIZES_GLSL
// Pixels and filters of an invocation.
layout(constant_id = 4) const uint ITEMS_M = 4;
layout(constant_id = 5) const uint ITEMS_N = 4;

// Pixels and filters of a workgroup: its invocations lie along filters in x and along pixels in y.
const uint TILE_M = gl_WorkGroupSize.y * ITEMS_M;
const uint TILE_N = gl_WorkGroupSize.x * ITEMS_N;
#endif

// Pixels of all images; width and height of an image; channels of a pixel, and of the result.
#ifdef CONSTANT_SIZES
layout(constant_id = 15) const uint pixels = 1u;
layout(constant_id = 16) const uint image_size = 1u;
layout(constant_id = 17) const uint channels = 1u;
layout(constant_id = 18) const uint filters = 1u;
#else
layout(push_constant) uniform Push {
    uint pixels;
    uint image_size;
    uint channels;
    uint filters;
};
#endif

// The workgroup's tile: its place among those of the filters, and among those of the pixels. Workgroups that follow each other have the
// same pixels, which caches may still hold.
uvec2 own_tile() {
    const uint across = (filters + TILE_N - 1) / TILE_N;
    return uvec2(linear_group() % across, linear_group() / across);
}

// Column and row of a pixel in its image.
ivec2 place_of(uint pixel) {
    return ivec2(pixel % image_size, pixel / image_size % image_size);
}

// Where a tap lies beside its pixel.
ivec2 offset_of(uint tap) {
    return ivec2(tap % FILTER_SIZE, tap / FILTER_SIZE) - RADIUS;
}

bool is_in_image(ivec2 place) {
    return all(greaterThanEqual(place, ivec2(0))) && all(lessThan(place, ivec2(image_size)));
}

// How far apart the indexes of pixels are that are so far apart in an image.
int index_offset(ivec2 offset) {
    return offset.y * int(image_size) + offset.x;
}

#endif
