#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// In the order of the axis `walk`.
const uint ROW = 0, COLUMN = 1, LINEAR = 2;

layout(constant_id = 3) const uint WALK = ROW;

layout(push_constant) uniform Push {
    uint size;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer Matrix { uint matrix[]; };

// How far the way goes that a workgroup is on: along one row, down one column, or over the whole matrix.
uint end() {
    return WALK == LINEAR ? size * size : size;
}

// The k-th of an invocation's places on it. Rows and columns are walked by the x of the grid, and its y tells which.
uint place(uint k) {
    if (WALK == LINEAR) {
        return own_element(k);
    }
    return (gl_WorkGroupID.x * UNROLL + k) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

// The word at a place. The matrix is row-major.
uint index_of(uint at) {
    switch (WALK) {
    case ROW: return gl_WorkGroupID.y * size + at;
    case COLUMN: return at * size + gl_WorkGroupID.y;
    default: return at;
    }
}

void main() {
    uint sum = 0u;
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint at = place(k);
        if (at < end()) {
            sum += matrix[index_of(at)];
        }
    }
    sums[own_result()] = sum;
}
