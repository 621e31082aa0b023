#version 450
#include "local_size.glsl"
#include "chain.glsl"

// Times 16 hops.
layout(constant_id = 5) const uint ITERATIONS = 1;

layout(push_constant) uniform Push {
    // Where the first pass begins.
    uint start;
    // Nodes that are loaded before the walk.
    uint preloaded;
    // Invocations that walk: one, but no compiler can know. It could load what all of a subgroup need alike through another cache.
    uint walkers;
};

// What passes leave for each other: how many there were; where each invocation stopped; and what it preloaded.
layout(set = 0, binding = 0) restrict buffer State { uint state[]; };
// Drivers may load in another way what is only read and nobody else writes: UNQUALIFIED doesn't say that it is so.
#ifdef UNQUALIFIED
#define NODES buffer
#else
#define NODES restrict readonly buffer
#endif
layout(set = 0, binding = 1) NODES Nodes { uint nodes[]; };

const uint AT = 1;

// Written out, so that no driver has to unroll a loop: one counts what loops do, and ends those that do much.
#define HOP at = nodes[at];
#define HOPS_4 HOP HOP HOP HOP
#define HOPS_16 HOPS_4 HOPS_4 HOPS_4 HOPS_4

void main() {
    const uint self = gl_LocalInvocationID.x;
    // Many devices empty their first cache when a dispatch begins. All invocations fill it again, in a fraction of the time that
    // the walk takes.
    uint sum = 0u;
    for (uint node = self; node < preloaded; node += gl_WorkGroupSize.x) {
        sum += nodes[first_word(node)];
    }
    state[AT + gl_WorkGroupSize.x + self] = sum;
    barrier();
    if (self < walkers) {
        uint at = start + state[AT + self];
        for (uint iteration = 0u; iteration < ITERATIONS; ++iteration) {
            HOPS_16
        }
        state[AT + self] = at - start;
    }
    if (self == 0u) {
        state[0] += 1u;
    }
}
