#version 450
#extension GL_EXT_samplerless_texture_functions : require

#define RESULT float
#include "loads.glsl"

// Texels along each side of the image.
const uint SIDE = 32;

uvec2 place(uint index) {
    return uvec2(index % SIDE, index / SIDE);
}

// Which path it is is a macro: each declares another resource.
#if defined(TEXEL_BUFFER) || defined(STORED_AS) || defined(FETCHED)

#include "texels.glsl"

#else

layout(set = 0, binding = 1) uniform texture2D image;
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

VALUE load(uint index) {
    return CHANNELS(texel(index));
}
