#version 450
#include "local_size.glsl"

// Which index of the workgroup runs along a row of the image, where neighbours are adjacent in memory: x, or (true) y.
layout(constant_id = 3) const bool BY_COLUMN = false;

layout(set = 0, binding = 0) restrict readonly buffer Source { uint source_pixels[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Target { uint target_pixels[]; };

layout(push_constant) uniform Push {
    uint width;
    uint height;
};

// Luma of an RGBA8 pixel in all three colours, alpha kept. Weights of Rec. 601 in 1/256: whole numbers, so exact.
uint gray(uint pixel) {
    const uvec3 colour = uvec3(pixel, pixel >> 8, pixel >> 16) & 0xFFu;
    const uint luma = (77u * colour.r + 150u * colour.g + 29u * colour.b) >> 8;
    return luma * 0x010101u | (pixel & 0xFF000000u);
}

void main() {
    const uvec2 at = BY_COLUMN ? gl_GlobalInvocationID.yx : gl_GlobalInvocationID.xy;
    if (at.x < width && at.y < height) {
        const uint i = at.y * width + at.x;
        target_pixels[i] = gray(source_pixels[i]);
    }
}
