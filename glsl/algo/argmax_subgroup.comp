#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "local_size.glsl"
#include "grid.glsl"
#include "argmax_keys.glsl"
#include "reduction_subgroups.glsl"

// A key of each workgroup.
layout(set = 0, binding = 0) restrict writeonly buffer Results { uvec2 results[]; };

shared uvec2 parts[SUBGROUPS];

// The largest key of a subgroup: its largest value, and then the lowest index of that.
uvec2 of_subgroup(uvec2 key) {
    const uint value = subgroupMax(key.y);
    return uvec2(subgroupMax(key.y == value ? key.x : 0u), value);
}

void main() {
    const uvec2 part = of_subgroup(own_key());
    if (gl_SubgroupInvocationID == 0u) {
        parts[gl_SubgroupID] = part;
    }
    barrier();
    if (gl_SubgroupID != 0u) {
        return;
    }
    // There may be more subgroups than lanes.
    uvec2 of_lane = uvec2(0u);
    for (uint subgroup = gl_SubgroupInvocationID; subgroup < subgroups(); subgroup += lanes()) {
        of_lane = larger(of_lane, parts[subgroup]);
    }
    const uvec2 key = of_subgroup(of_lane);
    if (gl_SubgroupInvocationID == 0u) {
        results[linear_group()] = key;
    }
}
