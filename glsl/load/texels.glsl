// The texels of a buffer or of an image, without a sampler. Include values.glsl before it, and say where in an image an index is.
#ifndef TEXELS_GLSL
#define TEXELS_GLSL

// The place in an image of the texel at an index.
uvec2 place(uint index);

// What it is is a macro: each is another resource. Where a storage format is given (STORED_AS), it is part of the type.
#if defined(TEXEL_BUFFER) && defined(STORED_AS)

layout(set = 0, binding = 1, STORED_AS) uniform restrict readonly imageBuffer texels;

vec4 texel(uint index) {
    return imageLoad(texels, int(index));
}

#elif defined(TEXEL_BUFFER)

layout(set = 0, binding = 1) uniform textureBuffer texels;

vec4 texel(uint index) {
    return texelFetch(texels, int(index));
}

#elif defined(STORED_AS)

layout(set = 0, binding = 1, STORED_AS) uniform restrict readonly image2D image;

vec4 texel(uint index) {
    return imageLoad(image, ivec2(place(index)));
}

#else

layout(set = 0, binding = 1) uniform texture2D image;

vec4 texel(uint index) {
    return texelFetch(image, ivec2(place(index)), 0);
}

#endif

#endif
