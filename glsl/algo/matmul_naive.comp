#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "matmul_block.glsl"
#include "matmul.glsl"
#include "matmul_elements.glsl"

// Products whose factors are loaded before the first is used, so that as many loads are in flight.
const uint UNROLL = 4;

// An invocation has one sum, and loads both factors of each product.
void main() {
    if (!has_tile()) {
        return;
    }
    const uvec2 own = own_tile() + gl_LocalInvocationID.xy;
    if (own.x >= columns || own.y >= rows) {
        return;
    }
    SUM sum = SUM(0);
    uint first = 0;
    for (; first + UNROLL <= inner; first += UNROLL) {
        FACTOR left[UNROLL];
        FACTOR right[UNROLL];
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            left[k] = left_at(own.y, first + k);
            right[k] = right_at(first + k, own.x);
        }
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            sum += left[k] * right[k];
        }
    }
    for (; first < inner; ++first) {
        sum += left_at(own.y, first) * right_at(first, own.x);
    }
    store(own.y, own.x, sum);
}
