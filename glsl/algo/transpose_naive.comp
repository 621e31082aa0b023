#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "transpose.glsl"
#include "transpose_steps.glsl"

// Reads along rows, writes down columns: neighbouring invocations write a whole row of the matrix apart.
void main() {
    const uvec2 origin = tile_origin();
    const uvec2 extent = tile_extent();
    for (uint first = 0; first < STEPS; first += UNROLL) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uvec2 at = place_at(first + k);
            if (is_within(at, extent)) {
                target_words[index_of((origin + at).yx)] = source_words[index_of(origin + at)];
            }
        }
    }
}
