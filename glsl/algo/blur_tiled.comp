#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "blur.glsl"
#include "blur_tile.glsl"

const int HALO_WIDTH = TILE_WIDTH + 2 * RADIUS;
const int HALO_PIXELS = HALO_WIDTH * HALO_HEIGHT;

// Pixels that an invocation loads before it stores the first one, so that as many loads are in flight.
const int LOADS = 4;

shared uvec2 halo[HALO_PIXELS];

void load_halo() {
    const ivec2 corner = first_pixel() - RADIUS;
    for (int first = int(gl_LocalInvocationIndex); first < HALO_PIXELS; first += LOADS * WORKERS) {
        vec4 loaded[LOADS];
        [[unroll]] for (int k = 0; k < LOADS; ++k) {
            const int at = first + k * WORKERS;
            // Beyond the last one, whichever: it isn't stored.
            loaded[k] = pixel_at(corner + ivec2(at % HALO_WIDTH, at / HALO_WIDTH));
        }
        [[unroll]] for (int k = 0; k < LOADS; ++k) {
            const int at = first + k * WORKERS;
            if (at < HALO_PIXELS) {
                halo[at] = packed(loaded[k]);
            }
        }
    }
    barrier();
}

// The workgroup fetches each pixel once. An invocation goes through the columns around its own, and keeps ITEMS pixels of one in
// registers: the next one that it reads moves in from below, and counts for ITEMS results.
void main() {
    load_halo();
    const ivec2 own = own_pixel();
    vec4 sums[ITEMS];
    [[unroll]] for (int item = 0; item < ITEMS; ++item) {
        sums[item] = vec4(0.0);
    }
    for (int across = 0; across < TAPS; ++across) {
        const int top = own.y * HALO_WIDTH + own.x + across;
        vec4 window[ITEMS];
        vec4 column[ITEMS];
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            window[item] = unpacked(halo[top + item * HALO_WIDTH]);
            column[item] = weight(0) * window[item];
        }
        [[unroll]] for (int down = 1; down < TAPS; ++down) {
            [[unroll]] for (int item = 0; item + 1 < ITEMS; ++item) {
                window[item] = window[item + 1];
            }
            window[ITEMS - 1] = unpacked(halo[top + (down + ITEMS - 1) * HALO_WIDTH]);
            [[unroll]] for (int item = 0; item < ITEMS; ++item) {
                column[item] += weight(down) * window[item];
            }
        }
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            sums[item] += weight(across) * column[item];
        }
    }
    store(sums);
}
