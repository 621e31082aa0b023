#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "scramble.glsl"

// In the order of the axis.
const uint UNIFORM = 0, ALTERNATE = 1, BLOCK = 2, RANDOM = 3;

layout(constant_id = 3) const uint PATTERN = UNIFORM;
// Paths that are taken, of the 32 that there are.
layout(constant_id = 4) const uint BRANCHES = 1;
// Lanes of a subgroup.
layout(constant_id = 5) const uint LANES = 32;

// Iterations of every path's loop. Constant, but no compiler can know.
layout(push_constant) uniform Push {
    uint iterations;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };

// Below BRANCHES.
uint path(uint self) {
    const uint lane = self % LANES;
    switch (PATTERN) {
    case ALTERNATE: return lane % BRANCHES;
    case BLOCK: return lane * BRANCHES / LANES;
    case RANDOM: return (scramble(self) >> 16) * BRANCHES >> 16;
    // Whole subgroups, neighbouring ones another path each.
    default: return (linear_group() + self / LANES) % BRANCHES;
    }
}

// Every path is a loop of its own with a shift and a factor of its own, written into its instructions: no compiler makes one of
// two of them.
#define STEP(p) x = (x ^ (x >> (1u + (p) % 16u))) * (2654435761u + 2u * (p));
#define PATH(p) case p: [[dont_unroll]] for (uint k = 0u; k < iterations; ++k) { STEP(p) STEP(p) STEP(p) STEP(p) } break;
#define PATHS_4(p) PATH(p) PATH(p + 1u) PATH(p + 2u) PATH(p + 3u)
#define PATHS_16(p) PATHS_4(p) PATHS_4(p + 4u) PATHS_4(p + 8u) PATHS_4(p + 12u)

void main() {
    const uint self = gl_LocalInvocationID.x;
    uint x = self + 1u;
    switch (path(self)) {
        PATHS_16(0u)
        PATHS_16(16u)
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = x + linear_group();
}
