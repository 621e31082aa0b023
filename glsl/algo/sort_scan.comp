#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "sort_sum.glsl"

// Puts the sum of what stands before it in its row in the place of each count: a workgroup for a row.

// Neighbouring counts that an invocation takes at once.
layout(constant_id = 3) const uint ITEMS = 8;

layout(set = 0, binding = 0) restrict buffer Rows { uint rows[]; };
// TOTALS is a macro: it has a resource of its own, the sum of each row.
#ifdef TOTALS
layout(set = 0, binding = 1) restrict writeonly buffer Totals { uint totals[]; };
#endif

// Counts in a row.
layout(push_constant) uniform Push {
    uint size;
};

void main() {
    const uint begin = gl_WorkGroupID.x * size;
    uint before = 0u;
    [[dont_unroll]] for (uint done = 0u; done < size; done += gl_WorkGroupSize.x * ITEMS) {
        const uint first = done + gl_LocalInvocationID.x * ITEMS;
        uint counts[ITEMS];
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            counts[k] = first + k < size ? rows[begin + first + k] : 0u;
        }
        uint own = 0u;
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            own += counts[k];
        }
        uint total;
        uint sum = before + sum_before(own, total);
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            if (first + k < size) {
                rows[begin + first + k] = sum;
            }
            sum += counts[k];
        }
        before += total;
        barrier();
    }
#ifdef TOTALS
    if (gl_LocalInvocationID.x == 0u) {
        totals[gl_WorkGroupID.x] = before;
    }
#endif
}
