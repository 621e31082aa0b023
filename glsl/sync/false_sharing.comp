#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "ledger.glsl"

// Atomics of one invocation, a multiple of 8.
layout(constant_id = 3) const uint ATOMICS = 8;
// Words from a cell to the next one.
layout(constant_id = 4) const uint SPACING = 1;

// Cells and notes go on from pass to pass, which are counted.
layout(set = 0, binding = 0) restrict buffer Cells { uint cells[]; };
layout(set = 0, binding = 1) restrict readonly buffer Terms { uint terms[]; };
layout(set = 0, binding = 2) restrict buffer Notes { uint notes[]; };
layout(set = 0, binding = 3) restrict buffer Passes { uint passes[]; };

layout(push_constant) uniform Push {
    // Cells from an invocation's to that of its neighbour in the workgroup, and to that of the same in the next workgroup.
    uint to_neighbour;
    uint to_next_group;
};

#define STEP                                        \
    {                                               \
        const uint old = atomicAdd(cells[at], term); \
        note += rise(old, old + term);              \
    }

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    const uint at = (gl_LocalInvocationID.x * to_neighbour + linear_group() * to_next_group) * SPACING;
    const uint term = terms[i];
    uint note = 0u;
    [[dont_unroll]] for (uint done = 0u; done < ATOMICS; done += 8u) {
        STEP STEP STEP STEP
        STEP STEP STEP STEP
    }
    notes[i] += note;
    if (i == 0u) {
        passes[0] += 1u;
    }
}
