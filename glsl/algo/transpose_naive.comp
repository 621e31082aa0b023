#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "transpose.glsl"
#include "transpose_steps.glsl"

// Whether, in a whole tile, an invocation reads all words of an iteration before it writes the first, without checks. Not every
// compiler moves a load over a store that stands in a branch, as each does whose place is checked.
layout(constant_id = 4) const bool LOADS_FIRST = false;

// Whether all steps lie within the tile, and the tile within the matrix.
bool is_whole(uvec2 extent) {
    return extent == uvec2(TILE) && TILE % gl_WorkGroupSize.x == 0 && TILE % gl_WorkGroupSize.y == 0 && STEPS % UNROLL == 0;
}

// Reads along rows, writes down columns: neighbouring invocations write a whole row of the matrix apart.
void turn(uvec2 origin, uvec2 extent) {
    for (uint first = 0; first < STEPS; first += UNROLL) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uvec2 at = place_at(first + k);
            if (is_within(at, extent)) {
                target_words[index_of((origin + at).yx)] = source_words[index_of(origin + at)];
            }
        }
    }
}

// The same of a whole tile.
void turn_loads_first(uvec2 origin) {
    for (uint first = 0; first < STEPS; first += UNROLL) {
        uint held[UNROLL];
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            held[k] = source_words[index_of(origin + place_at(first + k))];
        }
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            target_words[index_of((origin + place_at(first + k)).yx)] = held[k];
        }
    }
}

void main() {
    const uvec2 origin = tile_origin();
    const uvec2 extent = tile_extent();
    if (LOADS_FIRST && is_whole(extent)) {
        turn_loads_first(origin);
    } else {
        turn(origin, extent);
    }
}
