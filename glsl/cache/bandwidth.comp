#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// Times 8 loads.
layout(constant_id = 3) const uint ITERATIONS = 1;

// All are constant, but no compiler can know: loads from a place that doesn't move would leave the loop.
layout(push_constant) uniform Push {
    // Of a window.
    uint elements;
    // From one workgroup's window to the next one's; 0 where all have the same.
    uint spacing;
    // What spreads the places where workgroups begin in their window over all of it; 0 where all begin at the first.
    uint golden;
    // From one load of an invocation to its next, below the window's size.
    uint stride;
    // How many multiples of it workgroups take for their own; 0 where all take it as it is.
    uint strides;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer A { uvec4 a[]; };

// Loads of an iteration: they don't depend on each other, so this many can be in flight.
const uint UNROLL = 8;
// A line of most devices.
const uint LINE = 8;
// An odd number without a pattern (the first of MurmurHash3's finalizer): which workgroups stride alike has nothing to do with where
// they begin.
const uint SCATTER = 0x85EBCA6Bu;

void main() {
    const uint self = gl_LocalInvocationID.x;
    const uint window = linear_group() * spacing;
    uint first, rest;
    umulExtended(linear_group() * golden, elements, first, rest);
    uint i = (first / LINE * LINE + self) % elements;
    uint multiple;
    umulExtended(linear_group() * SCATTER, strides, multiple, rest);
    const uint own_stride = stride * (6u * multiple + 1u);
    uvec4 sum = uvec4(0u);
    for (uint iteration = 0u; iteration < ITERATIONS; ++iteration) {
        [[unroll]] for (uint k = 0u; k < UNROLL; ++k) {
            sum += a[window + i];
            i += own_stride;
            // Back to the window's beginning: what lies before it wraps around to something large.
            i = min(i, i - elements);
        }
    }
    // No component can stand for another.
    sums[linear_group() * gl_WorkGroupSize.x + self] = sum.x + 3u * sum.y + 5u * sum.z + 7u * sum.w;
}
