#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// How often a workgroup uses each word of its tile.
layout(constant_id = 3) const uint REUSE = 1;

// Words of a workgroup's tile.
const uint TILE = 2048;
// Loads that don't depend on each other.
const uint UNROLL = 8;

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };

uint tile_origin() {
    return linear_group() * TILE;
}

// SHARED is a macro: it has workgroup memory, which takes room from other workgroups.
#ifdef SHARED

shared uint tile[TILE];

void stage() {
    for (uint first = gl_LocalInvocationID.x; first < TILE; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = first + k * gl_WorkGroupSize.x;
            if (i < TILE) {
                tile[i] = source[tile_origin() + i];
            }
        }
    }
    barrier();
}

uint word(uint i) {
    return tile[i];
}

#else

void stage() {}

uint word(uint i) {
    return source[tile_origin() + i];
}

#endif

void main() {
    stage();
    uint result = 0u;
    [[dont_unroll]] for (uint iteration = 0; iteration < REUSE; ++iteration) {
        uint sum = 0u;
        for (uint first = gl_LocalInvocationID.x; first < TILE; first += UNROLL * gl_WorkGroupSize.x) {
            [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
                const uint i = first + k * gl_WorkGroupSize.x;
                if (i < TILE) {
                    // Each iteration deals the words of every 64 to other lanes, so that none can keep its own; a subgroup still
                    // reads whole lines, and each bank once.
                    sum += word(i ^ iteration);
                }
            }
        }
        // The order of the iterations counts, too.
        result = 3u * result + sum;
    }
    results[linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x] = result;
}
