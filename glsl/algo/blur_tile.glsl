// The pixels that a workgroup of algo/blur makes, its tile, and how colours lie in workgroup memory. After local_size.glsl and blur.glsl.
#ifndef BLUR_TILE_GLSL
#define BLUR_TILE_GLSL

const int WORKERS = int(gl_WorkGroupSize.x * gl_WorkGroupSize.y);

// The workgroup's pixels: each invocation has ITEMS of a column.
const ivec2 TILE = ivec2(gl_WorkGroupSize.x, int(gl_WorkGroupSize.y) * ITEMS);
const int TILE_WIDTH = TILE.x;
const int TILE_HEIGHT = TILE.y;

// Rows of the tile, with those above and below it that the filter reaches: its halo.
const int HALO_HEIGHT = TILE_HEIGHT + 2 * RADIUS;

layout(set = 0, binding = 2, rgba8) uniform restrict writeonly image2D target;

// Colours are four halves: as f32 they would fill twice the room, and as bytes each tap would have to convert them.
uvec2 packed(vec4 colour) {
    return uvec2(packHalf2x16(colour.xy), packHalf2x16(colour.zw));
}

vec4 unpacked(uvec2 halves) {
    return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}

ivec2 first_pixel() {
    return ivec2(gl_WorkGroupID.xy) * TILE;
}

// The first pixel of an invocation within the tile.
ivec2 own_pixel() {
    return ivec2(gl_LocalInvocationID.x, int(gl_LocalInvocationID.y) * ITEMS);
}

// Stores an invocation's pixels, one below another.
void store(vec4 colours[ITEMS]) {
    const ivec2 first = first_pixel() + own_pixel();
    [[unroll]] for (int item = 0; item < ITEMS; ++item) {
        const ivec2 place = first + ivec2(0, item);
        if (all(lessThan(place, ivec2(size)))) {
            imageStore(target, place, colours[item]);
        }
    }
}

#endif
