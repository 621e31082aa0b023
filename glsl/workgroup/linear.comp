#version 450
#include "local_size.glsl"
#include "grid.glsl"

layout(set = 0, binding = 0) restrict readonly buffer X { float x[]; };
layout(set = 0, binding = 1) restrict readonly buffer Y { float y[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Z { float z[]; };

layout(push_constant) uniform Push {
    uint n;
    float a;
};

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i < n) {
        z[i] = a * x[i] + y[i];
    }
}
