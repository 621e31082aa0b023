#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// Words of workgroup memory that are there to take room from other workgroups.
layout(constant_id = 3) const uint SPOILER = 1;

// Reads of an invocation, each of which waits for the one before it.
const uint READS = 32;

layout(push_constant) uniform Push {
    // Elements of the source.
    uint n;
    // Where in the spoiler a word is left, and found again: the same place, but no compiler can know that. So it can't make do
    // with less of it.
    uint left_at;
    uint found_at;
    // What of a word decides where the next one is: nothing, but no compiler can know that either.
    uint mask;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uvec2 source[]; };

shared uint spoiler[SPOILER];

void main() {
    const uint self = gl_LocalInvocationID.x;
    if (self == 0u) {
        spoiler[left_at] = 5u * linear_group();
    }
    barrier();
    uint i = linear_group() * gl_WorkGroupSize.x * READS + self;
    uvec2 sum = uvec2(0u);
    [[dont_unroll]] for (uint k = 0u; k < READS; ++k) {
        if (i < n) {
            const uvec2 element = source[i];
            sum += element;
            i += gl_WorkGroupSize.x + (element.x & mask);
        }
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = sum.x + 3u * sum.y + spoiler[found_at];
}
