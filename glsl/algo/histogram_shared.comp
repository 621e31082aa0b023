#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "histogram.glsl"
#include "histogram_copies.glsl"

// Neighbouring invocations that share a copy, unless copies are interleaved: those of a subgroup, or all of them.
layout(constant_id = 6) const uint SHARERS = 1;

// Of interleaved copies, each lane of a subgroup has its own, or as few lanes as can share one. Invocations are numbered lane by lane,
// which Vulkan doesn't promise: where it is otherwise, only the time differs.
uint own_copy() {
    return (INTERLEAVED ? gl_LocalInvocationID.x : gl_LocalInvocationID.x / SHARERS) % COPIES;
}

// Atomic, since other subgroups have the same copy, or the same lanes.
void count(uint key) {
    atomicAdd(counters[slot(bin_of(key), own_copy())], 1);
}

void main() {
    clear_copies();
    barrier();
    count_keys();
    barrier();
    merge_copies();
}
