#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// LEADER and KNOWN are macros: the one changes what a device must be able to do, the other what is bound.
#ifdef LEADER
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif

// Loads of an invocation, a multiple of 8.
layout(constant_id = 3) const uint LOADS = 8;
// Words that are read, a power of two.
layout(constant_id = 4) const uint WINDOW = 4096;

// Words from one load to the next: another line each, and all of the window in turn.
const uint STEP = 33;

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Words { uint words[]; };
#ifndef KNOWN
// Its own number for every invocation, which nobody can know: so the compiler can't know that a workgroup loads the same.
layout(set = 0, binding = 2) restrict readonly buffer Numbers { uint numbers[]; };
#endif

uint load(uint at) {
#ifdef LEADER
    uint word = 0u;
    if (gl_SubgroupInvocationID == 0u) {
        word = words[at];
    }
    return subgroupBroadcastFirst(word);
#else
    return words[at];
#endif
}

#define LOAD(number) result = 3u * result + load((first + (number) * STEP) & (WINDOW - 1u));

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
#ifdef KNOWN
    const uint group = linear_group();
#else
    const uint group = numbers[i] / gl_WorkGroupSize.x;
#endif
    const uint first = group * 5u;
    uint result = i;
    [[dont_unroll]] for (uint done = 0u; done < LOADS; done += 8u) {
        LOAD(done) LOAD(done + 1u) LOAD(done + 2u) LOAD(done + 3u)
        LOAD(done + 4u) LOAD(done + 5u) LOAD(done + 6u) LOAD(done + 7u)
    }
    results[i] = result;
}
