#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "conv2d.glsl"
#include "conv2d_operands.glsl"

// Channels that are loaded before the first is used, so that as many loads are in flight.
const uint UNROLL = 4;

// An invocation has one filter's sum of one pixel, and loads both factors of each product.
void main() {
    const uvec2 tile = own_tile();
    const uint filter_index = tile.x * TILE_N + gl_LocalInvocationID.x;
    const uint pixel = tile.y * TILE_M + gl_LocalInvocationID.y;
    if (filter_index >= filters || pixel >= pixels) {
        return;
    }
    const ivec2 place = place_of(pixel);
    float sum = 0.0;
    for (uint tap = 0; tap < TAPS; ++tap) {
        const ivec2 offset = offset_of(tap);
        if (!is_in_image(place + offset)) {
            continue;
        }
        const uint source = (pixel + index_offset(offset)) * channels;
        const uint weight = tap * channels * filters + filter_index;
        uint channel = 0;
        for (; channel + UNROLL <= channels; channel += UNROLL) {
            float left[UNROLL];
            float right[UNROLL];
            [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
                left[k] = source_at(source + channel + k);
                right[k] = weight_at(weight + (channel + k) * filters);
            }
            [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
                sum += left[k] * right[k];
            }
        }
        for (; channel < channels; ++channel) {
            sum += source_at(source + channel) * weight_at(weight + channel * filters);
        }
    }
    target_words[pixel * filters + filter_index] = sum;
}
