#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "local_size.glsl"
#include "grid.glsl"
#include "histogram.glsl"
#include "histogram_copies.glsl"

// Bits of a bin's number.
const uint BITS = 8;

// Lanes whose keys fall into one bin are counted by the first of them: however many they are, it is one atomic.
void count(uint key) {
    const uint bin = bin_of(key);
    // The lanes that agree with this one in all bits so far.
    uvec4 alike = subgroupBallot(true);
    [[unroll]] for (uint bit = 0; bit < BITS; ++bit) {
        const bool is_set = (bin >> bit & 1) != 0;
        const uvec4 set = subgroupBallot(is_set);
        alike &= is_set ? set : ~set;
    }
    if (subgroupBallotFindLSB(alike) == gl_SubgroupInvocationID) {
        atomicAdd(counters[slot(bin, 0)], subgroupBallotBitCount(alike));
    }
}

void main() {
    clear_copies();
    barrier();
    count_keys();
    barrier();
    merge_copies();
}
