// The elements of a reduction that lie in an image: the words as texels of four (SAMPLED), or the partial results that an earlier
// dispatch left there (PARTIALS). For reduction.glsl.
#ifndef REDUCTION_IMAGE_GLSL
#define REDUCTION_IMAGE_GLSL

#ifdef SAMPLED

layout(set = 0, binding = 1) uniform utexture2D source;
layout(set = 0, binding = 2) uniform sampler nearest;

layout(push_constant) uniform Push {
    // Words. They fill the image line by line.
    uint count;
    // A line has 2^line_bits texels.
    uint line_bits;
    uint lines;
};

// Texels of a tile: 8 along a line, in 4 lines. Images commonly keep together what is near in both directions, so neighbouring
// invocations load a tile. Lines are whole numbers of tiles.
const uint WIDTH_BITS = 3, HEIGHT_BITS = 2;

// The elements of all lines of tiles that lack no word.
uint whole_elements() {
    return ((count / WIDTH) >> (line_bits + HEIGHT_BITS)) << (line_bits + HEIGHT_BITS);
}

// Where a texel lies, by tiles.
uvec2 texel_of(uint i) {
    const uint tile = i >> (WIDTH_BITS + HEIGHT_BITS);
    const uint tiles_bits = line_bits - WIDTH_BITS;
    const uvec2 first = uvec2(bitfieldExtract(tile, 0, int(tiles_bits)) << WIDTH_BITS, (tile >> tiles_bits) << HEIGHT_BITS);
    return first + uvec2(bitfieldExtract(i, 0, int(WIDTH_BITS)), bitfieldExtract(i, int(WIDTH_BITS), int(HEIGHT_BITS)));
}

// The same line by line.
uint place_of(uint i) {
    const uvec2 texel = texel_of(i);
    return (texel.y << line_bits) + texel.x;
}

uvec4 load(uint i) {
    const vec2 extent = vec2(1u << line_bits, lines);
    return textureLod(usampler2D(source, nearest), (vec2(texel_of(i)) + 0.5) / extent, 0.0);
}

#else

layout(set = 0, binding = 1, r32ui) uniform restrict readonly uimage2D source;

layout(push_constant) uniform Push {
    // Texels, and how many a line has.
    uint count;
    uint line;
};

uint whole_elements() {
    return count;
}

uint place_of(uint i) {
    return i;
}

uint load(uint i) {
    return imageLoad(source, ivec2(i % line, i / line)).x;
}

#endif

#endif
