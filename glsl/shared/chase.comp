#version 450
#include "local_size.glsl"
#include "grid.glsl"

// Words of workgroup memory: rows of LANES, one for each node of a cycle, and what is left.
layout(constant_id = 3) const uint WORDS = 64;
layout(constant_id = 4) const uint LANES = 32;
// Times 16 hops.
layout(constant_id = 5) const uint ITERATIONS = 1;
// Of the cycle.
layout(constant_id = 6) const uint NODES = 1;

// Both are constant, but no compiler can know.
layout(push_constant) uniform Push {
    // The node that the first subgroup of the first workgroup begins at.
    uint start;
    // From the node that a subgroup begins at to the next subgroup's, and the next workgroup's.
    uint skew;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
// Of each node, the one that follows it.
layout(set = 0, binding = 1) restrict readonly buffer Next { uint next[]; };

// Lanes have a column each, in which they all walk the same cycle: side by side, without conflicts. A word holds where the next
// one is, so that a hop is a load and nothing else.
shared uint window[WORDS];

// Written out, so that no driver has to unroll a loop.
#define HOP at = window[at];
#define HOPS_4 HOP HOP HOP HOP
#define HOPS_16 HOPS_4 HOPS_4 HOPS_4 HOPS_4

void main() {
    const uint self = gl_LocalInvocationID.x;
    for (uint i = self; i < NODES * LANES; i += gl_WorkGroupSize.x) {
        window[i] = next[i / LANES] * LANES + i % LANES;
    }
    barrier();
    const uint node = (start + (linear_group() + self / LANES) * skew) % NODES;
    uint at = node * LANES + self % LANES;
    for (uint iteration = 0u; iteration < ITERATIONS; ++iteration) {
        HOPS_16
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = at;
}
