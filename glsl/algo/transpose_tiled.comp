#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "transpose.glsl"
#include "transpose_steps.glsl"

// How the tile lies in workgroup memory, which is all that tiled (0, false), padded (1, false) and swizzled (0, true) differ
// in: words between the end of a row and the next, and whether each row has its words in another order.
layout(constant_id = 4) const uint PADDING = 0;
layout(constant_id = 5) const bool SWIZZLED = false;

shared uint tile[TILE * (TILE + PADDING)];

// A row's words are in different banks anyway. Those of a column are where the pitch is odd, or where each row shifts them: xor
// with the row number permutes a row within itself, since TILE is a power of two.
uint slot(uint row, uint column) {
    return row * (TILE + PADDING) + (SWIZZLED ? column ^ row : column);
}

// Reads and writes along rows; the turn happens in workgroup memory.
void main() {
    const uvec2 origin = tile_origin();
    const uvec2 extent = tile_extent();
    for (uint first = 0; first < STEPS; first += UNROLL) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uvec2 at = place_at(first + k);
            if (is_within(at, extent)) {
                tile[slot(at.y, at.x)] = source_words[index_of(origin + at)];
            }
        }
    }
    barrier();
    // From here on, places are the target's.
    for (uint first = 0; first < STEPS; first += UNROLL) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uvec2 at = place_at(first + k);
            if (is_within(at, extent.yx)) {
                target_words[index_of(origin.yx + at)] = tile[slot(at.x, at.y)];
            }
        }
    }
}
