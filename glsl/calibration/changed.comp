#version 450
#include "local_size.glsl"

// How many words of one buffer aren't those of another, in any order of invocations.
layout(set = 0, binding = 0) restrict readonly buffer Found { uint found[]; };
layout(set = 0, binding = 1) restrict readonly buffer Known { uint known[]; };
layout(set = 0, binding = 2) buffer Changed { uint changed; };

layout(push_constant) uniform Size { uint words; };

void main() {
    uint count = 0;
    for (uint i = gl_GlobalInvocationID.x; i < words; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        count += uint(found[i] != known[i]);
    }
    if (count > 0) {
        atomicAdd(changed, count);
    }
}
