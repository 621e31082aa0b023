#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "reduce_own.glsl"

// Whether the invocations that add stand apart from each other, further in each step, or side by side.
layout(constant_id = 3) const bool INTERLEAVED = false;

// Where a workgroup's sum goes is a macro: it changes how the buffer is used. ONE_ATOMIC adds it to the result, which is zero at
// first. Else it is a word of the next dispatch.
#ifdef ONE_ATOMIC
layout(set = 0, binding = 0) restrict buffer Result { uint result[]; };
#else
layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
#endif

const uint SIZE = gl_WorkGroupSize.x;

shared uint sums[SIZE];

void main() {
    const uint own = gl_LocalInvocationID.x;
    sums[own] = own_sum();
    barrier();
    // Each step leaves half as many sums, rounded up.
    const uint steps = SIZE > 1u ? uint(findMSB(SIZE - 1u)) + 1u : 0u;
    for (uint step = 0u; step < steps; ++step) {
        const uint stride = INTERLEAVED ? 1u << step : 1u << (steps - 1u - step);
        const bool adds = INTERLEAVED ? own % (2u * stride) == 0u : own < stride;
        if (adds && own + stride < SIZE) {
            sums[own] += sums[own + stride];
        }
        barrier();
    }
    if (own == 0u) {
#ifdef ONE_ATOMIC
        atomicAdd(result[0], sums[0]);
#else
        results[linear_group()] = sums[0];
#endif
    }
}
