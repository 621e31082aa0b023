#version 450
#extension GL_EXT_samplerless_texture_functions : require

#define VALUE vec4
#define COMPONENTS 4
#define RESULT float
#include "loads.glsl"

// Texels along each side of the image.
const int SIDE = 32;

layout(set = 0, binding = 1) uniform texture2D image;

// HARDWARE is a macro: only it has a sampler.
#ifdef HARDWARE

layout(set = 0, binding = 2) uniform sampler filtering;

vec4 filtered(vec2 at) {
    return textureLod(sampler2D(image, filtering), at, 0.0);
}

#else

vec4 texel(int x, int y) {
    return texelFetch(image, ivec2(x, y), 0);
}

// As Vulkan defines linear filtering. No position lies before the middle of the first texel.
vec4 filtered(vec2 at) {
    const vec2 from_middle = at * SIDE - 0.5;
    const vec2 weight = fract(from_middle);
    const ivec2 near = ivec2(from_middle);
    const ivec2 far = min(near + 1, SIDE - 1);
    const vec4 above = mix(texel(near.x, near.y), texel(far.x, near.y), weight.x);
    const vec4 below = mix(texel(near.x, far.y), texel(far.x, far.y), weight.x);
    return mix(above, below, weight.y);
}

#endif

// 1/256 of a texel, the steps of positions.
const float STEPS = 256.0 * SIDE;

// Along each axis the texel and the step within it, from its middle on: 13 bits of a product that spreads the indexes.
VALUE load(uint index) {
    const uint bits = index * 0x9E3779B1u;
    return filtered((vec2(bits >> 19, (bits >> 6) & 0x1FFFu) + 128.0) / STEPS);
}
