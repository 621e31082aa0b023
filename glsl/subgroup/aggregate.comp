#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "ledger.glsl"

// BY_LANE, BY_SUBGROUP and BY_WORKGROUP are macros: they change what a device must be able to do, and barriers must not stand in
// branches.
#ifdef BY_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

// Times that an invocation asks for places.
layout(constant_id = 3) const uint ROUNDS = 1;

// The counter and the notes go on from pass to pass, which are counted.
layout(set = 0, binding = 0) restrict buffer Counter { uint counter[]; };
layout(set = 0, binding = 1) restrict readonly buffer Terms { uint terms[]; };
layout(set = 0, binding = 2) restrict buffer Notes { uint notes[]; };
layout(set = 0, binding = 3) restrict buffer Passes { uint passes[]; };

#if defined(BY_LANE)

#define BEGIN

// Gives the first of `count` places that nobody else has.
uint places(uint count, uint number) {
    return atomicAdd(counter[0], count);
}

#elif defined(BY_SUBGROUP)

#define BEGIN

uint places(uint count, uint number) {
    const uint lanes = min(gl_SubgroupSize, gl_WorkGroupSize.x - gl_SubgroupID * gl_SubgroupSize);
    const uint up_to_own = subgroupInclusiveAdd(count);
    // The last lane knows what all need.
    uint first = 0u;
    if (gl_SubgroupInvocationID == lanes - 1u) {
        first = atomicAdd(counter[0], up_to_own);
    }
    return subgroupShuffle(first, lanes - 1u) + up_to_own - count;
}

#elif defined(BY_WORKGROUP)

// What a round needs so far; the next round has another.
shared uint needed[2];
shared uint first_of_group;

#define BEGIN                                                \
    if (gl_LocalInvocationID.x == 0u) {                      \
        needed[0] = 0u;                                      \
    }                                                        \
    barrier();

uint places(uint count, uint number) {
    const uint row = number & 1u;
    const uint below = atomicAdd(needed[row], count);
    barrier();
    if (gl_LocalInvocationID.x == 0u) {
        first_of_group = atomicAdd(counter[0], needed[row]);
        needed[row ^ 1u] = 0u;
    }
    barrier();
    return first_of_group + below;
}

#else
#error "define who asks for places: BY_LANE, BY_SUBGROUP or BY_WORKGROUP"
#endif

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    const uint term = terms[i];
    uint note = 0u;
    BEGIN
    [[dont_unroll]] for (uint number = 0u; number < ROUNDS; ++number) {
        const uint count = 1u + ((term >> (number & 15u)) & 3u);
        const uint first = places(count, number);
        note += rise(first, first + count);
    }
    notes[i] += note;
    if (i == 0u) {
        passes[0] += 1u;
    }
}
