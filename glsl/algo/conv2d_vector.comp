#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "conv2d.glsl"
#include "conv2d_operands.glsl"

// Four channels of a pixel, from this one on; zero for those that aren't there.
vec4 channels_of(uint pixel, uint channel) {
    const uint i = pixel * channels + channel;
    if (WHOLE_CHANNELS) {
        return floats(source_vectors[i / 4]);
    }
    vec4 values = vec4(0);
    [[unroll]] for (uint j = 0; j < 4; ++j) {
        if (channel + j < channels) {
            values[j] = source_at(i + j);
        }
    }
    return values;
}

// An invocation has four filters' sums of several pixels: it loads vectors, and uses each of them several times.
void main() {
    const uvec2 tile = own_tile();
    const uint filter_index = tile.x * TILE_N + gl_LocalInvocationID.x * 4;
    const uint first = tile.y * TILE_M + gl_LocalInvocationID.y;
    if (filter_index >= filters) {
        return;
    }
    ivec2 places[ITEMS_M];
    vec4 sums[ITEMS_M];
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        places[i] = place_of(first + i * gl_WorkGroupSize.y);
        sums[i] = vec4(0);
    }
    for (uint tap = 0; tap < TAPS; ++tap) {
        const ivec2 offset = offset_of(tap);
        bool is_there[ITEMS_M];
        [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
            is_there[i] = first + i * gl_WorkGroupSize.y < pixels && is_in_image(places[i] + offset);
        }
        for (uint channel = 0; channel < channels; channel += 4) {
            vec4 left[ITEMS_M];
            vec4 right[4];
            [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
                const uint pixel = first + i * gl_WorkGroupSize.y + index_offset(offset);
                left[i] = is_there[i] ? channels_of(pixel, channel) : vec4(0);
            }
            [[unroll]] for (uint k = 0; k < 4; ++k) {
                right[k] = weights_of(tap * channels + channel + k, filter_index);
            }
            [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
                [[unroll]] for (uint k = 0; k < 4; ++k) {
                    sums[i] += left[i][k] * right[k];
                }
            }
        }
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        const uint pixel = first + i * gl_WorkGroupSize.y;
        if (pixel < pixels) {
            store(pixel, filter_index, sums[i]);
        }
    }
}
