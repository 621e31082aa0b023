#version 450
#include "local_size.glsl"

// Sums up the push constants that were set anew, so that no driver can leave any of them out.

// Words that are summed up, the index included.
layout(constant_id = 3) const uint COUNT = 2u;

layout(set = 0, binding = 0) writeonly buffer Sums {
    uint sums[];
};

layout(push_constant) uniform Push {
    uint values[32];
};

void main() {
    uint sum = 0u;
    for (uint i = 0u; i < COUNT; i++) {
        sum += values[i];
    }
    sums[values[0]] = sum;
}
