#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "local_size.glsl"
#include "transpose.glsl"

// The tile is cut into blocks of BLOCK x BLOCK, each turned by as many lanes of one subgroup, in so many stages. Subgroups are
// full and hold at least one block, which the host sees to; it doesn't matter which invocations they are made of.
layout(constant_id = 4) const uint STAGES = 3;

const uint BLOCK = 1u << STAGES;
const uint BLOCKS_ACROSS = (TILE + BLOCK - 1) / BLOCK;
const uint BLOCKS = BLOCKS_ACROSS * BLOCKS_ACROSS;

void main() {
    const uvec2 origin = tile_origin();
    const uvec2 extent = tile_extent();
    const uint lane = gl_SubgroupInvocationID % BLOCK;
    const uint blocks_at_once = gl_SubgroupSize / BLOCK;
    // The same count for all lanes of a subgroup: shuffles need them all. A block beyond the last lies below the tile.
    for (uint first = gl_SubgroupID * blocks_at_once; first < BLOCKS; first += gl_NumSubgroups * blocks_at_once) {
        const uint block = first + gl_SubgroupInvocationID / BLOCK;
        const uvec2 corner = uvec2(block % BLOCKS_ACROSS, block / BLOCKS_ACROSS) * BLOCK;

        // Each lane reads a column of the block, all lanes together row by row.
        uint held[BLOCK];
        [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
            const uvec2 at = corner + uvec2(lane, k);
            held[k] = is_within(at, extent) ? source_words[index_of(origin + at)] : 0;
        }

        // Element k of lane j becomes element j of lane k: a stage swaps one bit of k with that bit of j.
        [[unroll]] for (uint stage = 0; stage < STAGES; ++stage) {
            const uint bit = 1u << stage;
            const bool is_upper = (lane & bit) != 0;
            [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
                if ((k & bit) == 0) {
                    const uint received = subgroupShuffleXor(is_upper ? held[k] : held[k | bit], bit);
                    if (is_upper) {
                        held[k] = received;
                    } else {
                        held[k | bit] = received;
                    }
                }
            }
        }

        // Now it holds a row of it: a column of the target's block, written row by row as well.
        [[unroll]] for (uint k = 0; k < BLOCK; ++k) {
            const uvec2 at = corner.yx + uvec2(lane, k);
            if (is_within(at, extent.yx)) {
                target_words[index_of(origin.yx + at)] = held[k];
            }
        }
    }
}
