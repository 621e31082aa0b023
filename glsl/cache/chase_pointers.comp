#version 450
#include "pointers.glsl"
#include "local_size.glsl"
#include "chain.glsl"

// Times 16 hops.
layout(constant_id = 5) const uint ITERATIONS = 1;

layout(push_constant) uniform Push {
    // The address at which the nodes begin.
    uvec2 base;
    // Where the first pass begins.
    uint start;
    // Nodes that are loaded before the walk.
    uint preloaded;
    // Invocations that walk: one, but no compiler can know. It could load what all of a subgroup need alike through another cache.
    uint walkers;
};

// What passes leave for each other: how many there were; where each invocation stopped; and what it preloaded.
layout(set = 0, binding = 0) restrict buffer State { uint state[]; };
layout(set = 0, binding = 1) restrict readonly buffer Nodes { uint nodes[]; };

const uint AT = 1;

// Written out, so that no driver has to unroll a loop: one counts what loops do, and ends those that do much.
#define HOP at = Pointer(at).next;
#define HOPS_4 HOP HOP HOP HOP
#define HOPS_16 HOPS_4 HOPS_4 HOPS_4 HOPS_4

// As chase.comp, but that the walk leads from address to address. What passes leave is in words, which the host knows.
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
        uvec2 at = address_of(base, start + state[AT + self] + POINTER);
        for (uint iteration = 0u; iteration < ITERATIONS; ++iteration) {
            HOPS_16
        }
        state[AT + self] = word_at(base, at) - POINTER - start;
    }
    if (self == 0u) {
        state[0] += 1u;
    }
}
