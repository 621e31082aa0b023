#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "conv2d.glsl"
#include "conv2d_operands.glsl"

// Channels that workgroup memory holds at a time.
layout(constant_id = 8) const uint TILE_K = 8;

// Width of the workgroup's tile of an image, a divisor of its pixels.
layout(constant_id = 9) const uint TILE_WIDTH = 1;

const uint TILE_HEIGHT = TILE_M / TILE_WIDTH;

// The tile with the pixels around it that its taps reach: its halo.
const uint HALO_WIDTH = TILE_WIDTH + (FILTER_SIZE - 1);
const uint HALO_PIXELS = HALO_WIDTH * (TILE_HEIGHT + (FILTER_SIZE - 1));

// A pixel's channels, and one unused word, so that the same channel of neighbours lies in different banks.
const uint PITCH = TILE_K + 1;

const uint SIZE = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
const uint SOURCE_WORDS = HALO_PIXELS * TILE_K;
const uint WEIGHT_WORDS = TAPS * TILE_K * TILE_N;

// Words that are loaded before the first is stored, so that as many loads are in flight.
const uint UNROLL = 4;

shared float source_tile[HALO_PIXELS * PITCH];
shared float weight_tile[WEIGHT_WORDS];

// Loads the halo's channels from this one on, zeros where there is no pixel or channel.
void load_source(uint image, ivec2 corner, uint channel) {
    for (uint first = gl_LocalInvocationIndex; first < SOURCE_WORDS; first += UNROLL * SIZE) {
        float held[UNROLL];
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = first + k * SIZE;
            const uint pixel = i / TILE_K;
            const ivec2 place = corner + ivec2(pixel % HALO_WIDTH, pixel / HALO_WIDTH) - RADIUS;
            const uint own_channel = channel + i % TILE_K;
            held[k] = 0.0;
            if (i < SOURCE_WORDS && own_channel < channels && is_in_image(place)) {
                held[k] = source_at((image * image_size * image_size + index_offset(place)) * channels + own_channel);
            }
        }
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = first + k * SIZE;
            if (i < SOURCE_WORDS) {
                source_tile[i / TILE_K * PITCH + i % TILE_K] = held[k];
            }
        }
    }
}

// Loads the weights of all taps for the channels from this one on, zeros where there is no channel or filter.
void load_weights(uint channel, uint first_filter) {
    for (uint first = gl_LocalInvocationIndex; first < WEIGHT_WORDS; first += UNROLL * SIZE) {
        float held[UNROLL];
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = first + k * SIZE;
            const uint own_filter = first_filter + i % TILE_N;
            const uint own_channel = channel + i / TILE_N % TILE_K;
            const uint tap = i / (TILE_N * TILE_K);
            held[k] = 0.0;
            if (i < WEIGHT_WORDS && own_channel < channels && own_filter < filters) {
                held[k] = weight_at((tap * channels + own_channel) * filters + own_filter);
            }
        }
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = first + k * SIZE;
            if (i < WEIGHT_WORDS) {
                weight_tile[i] = held[k];
            }
        }
    }
}

// The place of an invocation's pixel in the workgroup's tile.
uvec2 own_place(uint item) {
    const uint pixel = gl_LocalInvocationID.y + item * gl_WorkGroupSize.y;
    return uvec2(pixel % TILE_WIDTH, pixel / TILE_WIDTH);
}

// Where the channels of an invocation's pixels begin in workgroup memory, and its sums.
uint first_words[ITEMS_M];
float sums[ITEMS_M * ITEMS_N];

// Adds the products of one channel at one tap: each word that is loaded takes part in several.
void multiply(uint source, uint weight) {
    float left[ITEMS_M];
    float right[ITEMS_N];
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        left[i] = source_tile[first_words[i] + source];
    }
    [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
        right[j] = weight_tile[weight + j * gl_WorkGroupSize.x + gl_LocalInvocationID.x];
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
            sums[i * ITEMS_N + j] += left[i] * right[j];
        }
    }
}

void main() {
    const uvec2 tile = own_tile();
    const uint across = (image_size + TILE_WIDTH - 1) / TILE_WIDTH;
    const uint down = (image_size + TILE_HEIGHT - 1) / TILE_HEIGHT;
    const uint image = tile.y / (across * down);
    const uvec2 corner = uvec2(tile.y % across, tile.y / across % down) * uvec2(TILE_WIDTH, TILE_HEIGHT);
    const uint first_filter = tile.x * TILE_N;
    // The grid may be larger than the tiles are many: that is the same for all of a workgroup.
    if (image * image_size * image_size >= pixels) {
        return;
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        first_words[i] = (own_place(i).y * HALO_WIDTH + own_place(i).x) * PITCH;
        [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
            sums[i * ITEMS_N + j] = 0.0;
        }
    }
    for (uint channel = 0; channel < channels; channel += TILE_K) {
        if (channel > 0) {
            // All have used the last channels.
            barrier();
        }
        load_source(image, ivec2(corner), channel);
        load_weights(channel, first_filter);
        barrier();
        for (uint tap = 0; tap < TAPS; ++tap) {
            const uint moved = (tap / FILTER_SIZE * HALO_WIDTH + tap % FILTER_SIZE) * PITCH;
            for (uint first = 0; first < TILE_K; first += 4) {
                [[unroll]] for (uint k = 0; k < 4; ++k) {
                    multiply(moved + first + k, (tap * TILE_K + first + k) * TILE_N);
                }
            }
        }
    }
    [[unroll]] for (uint i = 0; i < ITEMS_M; ++i) {
        const ivec2 place = ivec2(corner + own_place(i));
        const uint pixel = image * image_size * image_size + index_offset(place);
        [[unroll]] for (uint j = 0; j < ITEMS_N; ++j) {
            const uint own_filter = first_filter + j * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
            if (is_in_image(place) && own_filter < filters) {
                target_words[pixel * filters + own_filter] = sums[i * ITEMS_N + j];
            }
        }
    }
}
