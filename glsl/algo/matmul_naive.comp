#version 450
#extension GL_EXT_control_flow_attributes : require
#ifdef HALF_SUMS
#extension GL_EXT_shader_explicit_arithmetic_types : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "matmul.glsl"
#include "matmul_operands.glsl"

// Products whose factors are loaded before the first is used, so that as many loads are in flight.
const uint UNROLL = 4u;

// An invocation has one sum, and loads both factors of each product.
void main() {
    const uvec2 place = own_place(gl_WorkGroupSize.yx) + gl_LocalInvocationID.yx;
    if (any(greaterThanEqual(place, uvec2(rows, columns)))) {
        return;
    }
    VALUE sum = VALUE(0);
    uint k = 0u;
    for (; k + UNROLL <= inner; k += UNROLL) {
        VALUE left[UNROLL];
        VALUE right[UNROLL];
        [[unroll]] for (uint j = 0u; j < UNROLL; ++j) {
            left[j] = left_at(place.x, k + j);
            right[j] = right_at(k + j, place.y);
        }
        [[unroll]] for (uint j = 0u; j < UNROLL; ++j) {
            sum += left[j] * right[j];
        }
    }
    for (; k < inner; ++k) {
        sum += left_at(place.x, k) * right_at(k, place.y);
    }
    sums[place.x * columns + place.y] = sum;
}
