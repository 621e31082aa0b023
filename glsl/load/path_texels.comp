#version 450
#extension GL_EXT_samplerless_texture_functions : require

#define RESULT float

// UNORM8 is a macro, since it is a property of the format: texels are k/255, whose sums round. The nearest whole number of a
// iteration's sum of them is exact; those of floats are whole already.
#ifdef UNORM8
#define WHOLE(sum) round(255.0 * (sum))
#else
#define WHOLE(sum) (sum)
#endif

#include "loads.glsl"

#if COMPONENTS == 1
#define CHANNELS(texel) (texel).x
#elif COMPONENTS == 2
#define CHANNELS(texel) (texel).xy
#else
#define CHANNELS(texel) (texel)
#endif

// Which path it is is a macro: each declares another resource.
#ifdef TEXEL_BUFFER

layout(set = 0, binding = 1) uniform textureBuffer texels;

vec4 texel(uint index) {
    return texelFetch(texels, int(index));
}

#else

// Texels along each side of the image.
const uint SIDE = 32;

uvec2 place(uint index) {
    return uvec2(index % SIDE, index / SIDE);
}

#ifdef STORED_AS

// The format is part of the type.
layout(set = 0, binding = 1, STORED_AS) uniform restrict readonly image2D image;

vec4 texel(uint index) {
    return imageLoad(image, ivec2(place(index)));
}

#else

layout(set = 0, binding = 1) uniform texture2D image;

#ifdef FETCHED

vec4 texel(uint index) {
    return texelFetch(image, ivec2(place(index)), 0);
}

#else

layout(set = 0, binding = 2) uniform sampler filtering;

// Where in a texel the sample is taken, from its corner on: its middle, or where it meets three others, so that all four count.
#ifdef LINEAR_SAMPLER
const float WITHIN = 1.0;
#else
const float WITHIN = 0.5;
#endif

vec4 texel(uint index) {
    return textureLod(sampler2D(image, filtering), (vec2(place(index)) + WITHIN) / SIDE, 0.0);
}

#endif
#endif
#endif

VALUE load(uint index) {
    return CHANNELS(texel(index));
}
