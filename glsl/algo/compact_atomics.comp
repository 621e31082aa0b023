#version 450
#extension GL_EXT_control_flow_attributes : require
// BY_LANE, BY_SUBGROUP and BY_WORKGROUP are macros: they change what a device must be able to do, and barriers must not stand in
// branches.
#ifdef BY_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#include "local_size.glsl"
#include "grid.glsl"
#include "compact.glsl"

// Words of an invocation, which lie a workgroup apart.
layout(constant_id = 3) const uint ITEMS = 16;

const uint TILE = ITEMS * gl_WorkGroupSize.x;

layout(set = 0, binding = 0) restrict readonly buffer Source { uint source_words[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Kept { uint kept[]; };
// Words that are kept. 0 in the beginning.
layout(set = 0, binding = 2) restrict buffer Count { uint count[]; };

#if defined(BY_LANE)

// Gives a word that is kept a place in the list.
void keep(uint word) {
    if (word < threshold) {
        kept[atomicAdd(count[0], 1u)] = word;
    }
}

#elif defined(BY_SUBGROUP)

// One lane asks for the places of all.
void keep(uint word) {
    const bool is_own = word < threshold;
    const uvec4 ballot = subgroupBallot(is_own);
    const uint all = subgroupBallotBitCount(ballot);
    uint first = 0u;
    if (all > 0u && subgroupElect()) {
        first = atomicAdd(count[0], all);
    }
    first = subgroupBroadcastFirst(first);
    if (is_own) {
        kept[first + subgroupBallotExclusiveBitCount(ballot)] = word;
    }
}

#elif defined(BY_WORKGROUP)

// What the workgroup keeps, and where its places begin.
shared uint kept_here;
shared uint first_of_group;

#else
#error "define who asks for places: BY_LANE, BY_SUBGROUP or BY_WORKGROUP"
#endif

void main() {
    const uint first = linear_group() * TILE + gl_LocalInvocationID.x;
    uint held[ITEMS];
    if (first - gl_LocalInvocationID.x + TILE <= size) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            held[k] = source_words[first + k * gl_WorkGroupSize.x];
        }
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            const uint at = first + k * gl_WorkGroupSize.x;
            held[k] = at < size ? source_words[at] : NOT_KEPT;
        }
    }
#ifdef BY_WORKGROUP
    // Places within the workgroup's own first, by atomics in its memory, and then one for all of them.
    if (gl_LocalInvocationID.x == 0u) {
        kept_here = 0u;
    }
    barrier();
    uint own = 0u;
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        own += uint(held[k] < threshold);
    }
    uint at = atomicAdd(kept_here, own);
    barrier();
    if (gl_LocalInvocationID.x == 0u) {
        first_of_group = atomicAdd(count[0], kept_here);
    }
    barrier();
    at += first_of_group;
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        if (held[k] < threshold) {
            kept[at++] = held[k];
        }
    }
#else
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        keep(held[k]);
    }
#endif
}
