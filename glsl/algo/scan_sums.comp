#version 450
#extension GL_EXT_control_flow_attributes : require
#ifdef BY_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#endif
#include "local_size.glsl"
#include "scan_steps.glsl"

// As long as whole vectors: words that follow the last sum don't count.
layout(set = 0, binding = 0) restrict buffer Sums { uvec4 sums[]; };

layout(push_constant) uniform Push {
    // Vectors of sums.
    uint vectors;
};

// The second level: one workgroup puts the sum of those before it in the place of each tile's sum.
void main() {
    uint before = 0u;
    [[dont_unroll]] for (uint first = 0u; first < vectors; first += gl_WorkGroupSize.x) {
        const uint at = first + own_place();
        uvec4 up_to = at < vectors ? sums[at] : uvec4(0u);
        up_to.y += up_to.x;
        up_to.z += up_to.y;
        up_to.w += up_to.z;
        uint all;
        const uint up_to_own = scan_row(up_to.w, all);
        if (at < vectors) {
            sums[at] = uvec4(0u, up_to.xyz) + (before + up_to_own - up_to.w);
        }
        before += all;
    }
}
