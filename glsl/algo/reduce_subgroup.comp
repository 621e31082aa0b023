#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "local_size.glsl"
#include "grid.glsl"
#include "reduce_own.glsl"
#include "reduction_subgroups.glsl"

// Where a workgroup's sum goes: to a texel of its own where the words are sampled, else to the result, which is zero at first.
#ifdef SAMPLED
layout(set = 0, binding = 0, r32ui) uniform restrict writeonly uimage2D partials;
#else
layout(set = 0, binding = 0) restrict buffer Result { uint result[]; };
#endif

shared uint parts[SUBGROUPS];

void main() {
    const uint part = subgroupAdd(own_sum());
    if (gl_SubgroupInvocationID == 0u) {
        parts[gl_SubgroupID] = part;
    }
    barrier();
    if (gl_SubgroupID != 0u) {
        return;
    }
    // There may be more subgroups than lanes.
    uint of_lane = 0u;
    for (uint subgroup = gl_SubgroupInvocationID; subgroup < subgroups(); subgroup += lanes()) {
        of_lane += parts[subgroup];
    }
    const uint sum = subgroupAdd(of_lane);
    if (gl_SubgroupInvocationID == 0u) {
#ifdef SAMPLED
        imageStore(partials, ivec2(gl_WorkGroupID.xy), uvec4(sum));
#else
        atomicAdd(result[0], sum);
#endif
    }
}
