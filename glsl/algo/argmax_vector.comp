#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "local_size.glsl"
#include "grid.glsl"
#define VECTORS
#include "argmax_keys.glsl"
#include "reduction_subgroups.glsl"

// A key of each workgroup.
layout(set = 0, binding = 0) restrict writeonly buffer Results { uvec2 results[]; };

shared uint parts[SUBGROUPS];
// The lowest index so far, its bits inverted.
shared uint inverted;

// The largest value of an invocation, wherever it is: one operation a word.
uint own_largest() {
    uvec4 largest = held[0];
    [[unroll]] for (uint k = 1; k < UNROLL; ++k) {
        largest = max(largest, held[k]);
    }
    return max(max(largest.x, largest.y), max(largest.z, largest.w));
}

// The lowest index of a value that the invocation has.
uint own_index(uint value) {
    uint index = 0u;
    // Backwards, so that the lowest one stays.
    [[unroll]] for (uint k = UNROLL; k > 0; --k) {
        const uint first = own_element(k - 1) * WIDTH;
        [[unroll]] for (uint word = WIDTH; word > 0; --word) {
            index = held[k - 1][word - 1] == value ? first + word - 1 : index;
        }
    }
    return index;
}

// The largest value of the workgroup, which every subgroup finds by itself.
uint of_workgroup() {
    uint of_lane = 0u;
    // There may be more subgroups than lanes.
    for (uint subgroup = gl_SubgroupInvocationID; subgroup < subgroups(); subgroup += lanes()) {
        of_lane = max(of_lane, parts[subgroup]);
    }
    return subgroupMax(of_lane);
}

void main() {
    load_all();
    const uint own = own_largest();
    const uint part = subgroupMax(own);
    if (gl_SubgroupInvocationID == 0u) {
        parts[gl_SubgroupID] = part;
    }
    if (gl_LocalInvocationID.x == 0u) {
        inverted = 0u;
    }
    barrier();
    const uint largest = of_workgroup();
    // Only who has it looks where it is.
    if (own == largest) {
        atomicMax(inverted, ~own_index(largest));
    }
    barrier();
    if (gl_LocalInvocationID.x == 0u) {
        results[linear_group()] = uvec2(inverted, largest);
    }
}
