#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "blur.glsl"
#include "blur_lines.glsl"

// An invocation makes ITEMS pixels of a line, side by side. It keeps as many of the source in registers: the next one that it fetches moves
// in at the end, and counts for ITEMS results.
void main() {
    const int line = int(gl_GlobalInvocationID.x);
    const int first = int(gl_GlobalInvocationID.y) * ITEMS;
    if (line >= size || first >= size) {
        return;
    }
    vec4 window[ITEMS];
    [[unroll]] for (int item = 0; item < ITEMS; ++item) {
        window[item] = along_line(line, first + item - RADIUS);
    }
    vec4 sums[ITEMS];
    [[unroll]] for (int item = 0; item < ITEMS; ++item) {
        sums[item] = weight(0) * window[item];
    }
    [[unroll]] for (int tap = 1; tap < TAPS; ++tap) {
        [[unroll]] for (int item = 0; item + 1 < ITEMS; ++item) {
            window[item] = window[item + 1];
        }
        window[ITEMS - 1] = along_line(line, first + tap + ITEMS - 1 - RADIUS);
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            sums[item] += weight(tap) * window[item];
        }
    }
    if (first + ITEMS <= size) {
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            store(line, first + item, sums[item]);
        }
    } else {
        [[unroll]] for (int item = 0; item < ITEMS; ++item) {
            if (first + item < size) {
                store(line, first + item, sums[item]);
            }
        }
    }
}
