#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "blur.glsl"
#include "blur_tile.glsl"

// Rows are blurred in runs of ITEMS pixels.
const int RUNS = (TILE_WIDTH + ITEMS - 1) / ITEMS;

// One unused place per row at least keeps invocations that store one below another out of the same bank.
const int PITCH = (TILE_WIDTH + 1) | 1;

// The rows of the tile and of its halo, blurred along x.
shared uvec2 blurred[PITCH * HALO_HEIGHT];

// The workgroup blurs all rows that it needs, neighbouring invocations neighbouring ones, as the first pass of `separable` does.
void blur_rows() {
    const ivec2 corner = first_pixel() - RADIUS;
    for (int run = int(gl_LocalInvocationIndex); run < RUNS * HALO_HEIGHT; run += WORKERS) {
        const int row = run % HALO_HEIGHT;
        const int first = run / HALO_HEIGHT * ITEMS;
        const ivec2 place = corner + ivec2(first, row);
        vec4 window[ITEMS];
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            window[item] = pixel_at(place + ivec2(item, 0));
        }
        vec4 sums[ITEMS];
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            sums[item] = weight(0) * window[item];
        }
        [[unroll]] for (int tap = 1; tap < TAPS; ++tap) {
            [[unroll]] for (int item = 0; item + 1 < ITEMS; ++item) {
                window[item] = window[item + 1];
            }
            window[ITEMS - 1] = pixel_at(place + ivec2(tap + ITEMS - 1, 0));
            [[unroll]] for (int item = 0; item < ITEMS; ++item) {
                sums[item] += weight(tap) * window[item];
            }
        }
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            if (first + item < TILE_WIDTH) {
                blurred[row * PITCH + first + item] = packed(sums[item]);
            }
        }
    }
    barrier();
}

// Both passes in one kernel: what the first one leaves never goes to memory. Rows of the halo are blurred by each workgroup that needs them.
void main() {
    blur_rows();
    const ivec2 own = own_pixel();
    const int top = own.y * PITCH + own.x;
    vec4 window[ITEMS];
    vec4 sums[ITEMS];
    [[unroll]] for (int item = 0; item < ITEMS; ++item) {
        window[item] = unpacked(blurred[top + item * PITCH]);
        sums[item] = weight(0) * window[item];
    }
    [[unroll]] for (int tap = 1; tap < TAPS; ++tap) {
        [[unroll]] for (int item = 0; item + 1 < ITEMS; ++item) {
            window[item] = window[item + 1];
        }
        window[ITEMS - 1] = unpacked(blurred[top + (tap + ITEMS - 1) * PITCH]);
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            sums[item] += weight(tap) * window[item];
        }
    }
    store(sums);
}
