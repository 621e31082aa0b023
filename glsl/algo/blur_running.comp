#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "blur.glsl"
#include "blur_lines.glsl"

// Steps whose pixels are fetched before the first is used, so that as many loads are in flight. A divisor of ITEMS.
const int STEPS = 4;

// Where all weights are the same, the sum around a pixel is that around the one before it, with one pixel more and one less. An invocation
// adds up all taps of its first pixel, and runs on from there over ITEMS pixels of its line.
void main() {
    const int line = int(gl_GlobalInvocationID.x);
    const int first = int(gl_GlobalInvocationID.y) * ITEMS;
    if (line >= size || first >= size) {
        return;
    }
    vec4 sum = vec4(0.0);
    // All but the last tap, which the first step adds.
    [[unroll]] for (int tap = 0; tap + 1 < TAPS; ++tap) {
        sum += along_line(line, first + tap - RADIUS);
    }
    for (int begin = first; begin < min(first + ITEMS, size); begin += STEPS) {
        vec4 added[STEPS];
        vec4 dropped[STEPS];
        [[unroll]] for (int step = 0; step < STEPS; ++step) {
            added[step] = along_line(line, begin + step + RADIUS);
            dropped[step] = along_line(line, begin + step - RADIUS);
        }
        [[unroll]] for (int step = 0; step < STEPS; ++step) {
            sum += added[step];
            if (begin + step < size) {
                store(line, begin + step, weight(0) * sum);
            }
            sum -= dropped[step];
        }
    }
}
