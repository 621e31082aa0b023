#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// What a kernel before this one has written, and what is checked: it isn't declared to be only read.
layout(set = 0, binding = 0) restrict buffer Swept { uint swept[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Sums { uint sums[]; };

layout(push_constant) uniform Push {
    // Words to read.
    uint n;
    // Where the sums of this buffer begin.
    uint first_sum;
};

// Words that an invocation reads.
const uint READS = 64u;

shared uint parts[gl_WorkGroupSize.x];

// Reads every word and writes nearly none: a workgroup leaves the sum of all its words in one.
void main() {
    const uint first = linear_group() * gl_WorkGroupSize.x * READS;
    uint sum = 0u;
    [[unroll]] for (uint read = 0u; read < READS; read++) {
        const uint i = first + read * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (i < n) {
            sum += swept[i];
        }
    }
    parts[gl_LocalInvocationID.x] = sum;
    barrier();
    if (gl_LocalInvocationID.x == 0u && first < n) {
        uint all = 0u;
        for (uint part = 0u; part < gl_WorkGroupSize.x; part++) {
            all += parts[part];
        }
        sums[first_sum + linear_group()] = all;
    }
}
