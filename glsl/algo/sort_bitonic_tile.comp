#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort_exchange.glsl"

// `bitonic`: all steps whose pairs lie within a tile, in workgroup memory.

// Keys of a tile, a power of two.
layout(constant_id = 3) const uint TILE = 1024;
// Keys in flight.
const uint UNROLL = 8;

layout(push_constant) uniform Push {
    uint n;
};

// MERGE is a macro: tiles that were sorted are merged where they are, and no source is there. PAYLOAD is one since values are
// resources of their own.
#ifdef MERGE
layout(set = 0, binding = 0) restrict buffer Target { uint target[]; };
#define SOURCE target
#define SOURCE_VALUES target_values
#ifdef PAYLOAD
layout(set = 0, binding = 1) restrict buffer TargetValues { uint target_values[]; };
#endif
#else
layout(set = 0, binding = 0) restrict writeonly buffer Target { uint target[]; };
#define SOURCE source
#define SOURCE_VALUES source_values
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };
#ifdef PAYLOAD
layout(set = 0, binding = 2) restrict writeonly buffer TargetValues { uint target_values[]; };
layout(set = 0, binding = 3) restrict readonly buffer SourceValues { uint source_values[]; };
#endif
#endif

shared uint tile_keys[TILE];
#ifdef PAYLOAD
shared uint tile_values[TILE];
#endif

void exchange(uint half_block, uint mask, uint extent) {
    for (uint pair = gl_LocalInvocationID.x; pair < TILE / 2u; pair += gl_WorkGroupSize.x) {
        const uint first = first_of_pair(pair, half_block);
        const uint second = first ^ mask;
        if (second < extent) {
            const uint one = tile_keys[first];
            const uint other = tile_keys[second];
            if (one > other) {
                tile_keys[first] = other;
                tile_keys[second] = one;
#ifdef PAYLOAD
                const uint value = tile_values[first];
                tile_values[first] = tile_values[second];
                tile_values[second] = value;
#endif
            }
        }
    }
    barrier();
}

// The steps with pairs half a block apart, and all shorter ones.
void halve(uint half_block, uint extent) {
    for (uint distance = half_block; distance > 0u; distance /= 2u) {
        exchange(distance, distance, extent);
    }
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    const uint begin = linear_group() * TILE;
    if (begin >= n) {
        return;
    }
    const uint extent = min(TILE, n - begin);
    for (uint first = self; first < extent; first += UNROLL * gl_WorkGroupSize.x) {
        uint held[UNROLL];
        [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
            const uint i = first + k * gl_WorkGroupSize.x;
            held[k] = i < extent ? SOURCE[begin + i] : 0u;
        }
        [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
            const uint i = first + k * gl_WorkGroupSize.x;
            if (i < extent) {
                tile_keys[i] = held[k];
            }
        }
#ifdef PAYLOAD
        [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
            const uint i = first + k * gl_WorkGroupSize.x;
            held[k] = i < extent ? SOURCE_VALUES[begin + i] : 0u;
        }
        [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
            const uint i = first + k * gl_WorkGroupSize.x;
            if (i < extent) {
                tile_values[i] = held[k];
            }
        }
#endif
    }
    barrier();
#ifdef MERGE
    halve(TILE / 2u, extent);
#else
    for (uint block = 2u; block <= TILE; block *= 2u) {
        exchange(block / 2u, block - 1u, extent);
        halve(block / 4u, extent);
    }
#endif
    for (uint i = self; i < extent; i += gl_WorkGroupSize.x) {
        target[begin + i] = tile_keys[i];
#ifdef PAYLOAD
        target_values[begin + i] = tile_values[i];
#endif
    }
}
