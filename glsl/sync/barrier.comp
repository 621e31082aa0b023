#version 450
// The scopes of the queue family and of the device belong to the Vulkan memory model, which a device needs then.
#if defined(CONTROL_QUEUE_FAMILY) || defined(CONTROL_DEVICE)
#pragma use_vulkan_memory_model
#endif
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "local_size.glsl"

// TRAFFIC and the kind of barrier are macros: some drivers run through a branch that a specialization constant closes, with all
// lanes off, and would wait at a barrier in it.

// Those up to EXECUTION need no capability beyond `Shader`, the explicit ones included. controlBarrier whose scopes are the
// workgroup is left out: for workgroup memory it is the very instruction that barrier() is. EXECUTION is that instruction without
// an order of memory. The others order buffers as well: a scope beyond the workgroup means nothing to memory that only the
// workgroup has.
#define ALL_MEMORY (gl_StorageSemanticsShared | gl_StorageSemanticsBuffer)
#define VISIBLE (gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible)
#if defined(MEMORY_SHARED)
#define SYNCHRONIZE() memoryBarrierShared()
#elif defined(MEMORY_WORKGROUP)
#define SYNCHRONIZE() memoryBarrier(gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease)
#elif defined(SUBGROUP)
#define SYNCHRONIZE() subgroupBarrier()
#elif defined(CONTROL)
#define SYNCHRONIZE() barrier()
#elif defined(EXECUTION)
#define SYNCHRONIZE() controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, 0)
#elif defined(CONTROL_SUBGROUP)
#define SYNCHRONIZE() controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease)
#elif defined(CONTROL_QUEUE_FAMILY)
#define SYNCHRONIZE() controlBarrier(gl_ScopeWorkgroup, gl_ScopeQueueFamily, ALL_MEMORY, VISIBLE)
#elif defined(CONTROL_DEVICE)
#define SYNCHRONIZE() controlBarrier(gl_ScopeWorkgroup, gl_ScopeDevice, ALL_MEMORY, VISIBLE)
#else
#define SYNCHRONIZE()
#endif

// A multiple of UNROLL.
layout(constant_id = 3) const uint BARRIERS = 8;
// Even, since steps alternate between two rows of slots.
const uint UNROLL = 8;

layout(set = 0, binding = 0) restrict writeonly buffer Result { uint result[]; };

// Whose slot an invocation reads: its number with these bits swapped. Pushed, since a compiler that knew it to be zero would
// keep the invocation's own slot in a register.
layout(push_constant) uniform Push {
    uint partner_bits;
};

#ifdef TRAFFIC
shared uint slots[2][gl_WorkGroupSize.x];
#endif

// What comes between two barriers depends on the step before, and no two steps can be made one: factor and exclusive or don't
// commute. One barrier a step is enough, since the next step writes to the other row, and the one after it waits for the next.
uint stepped(uint x, uint lane, uint partner, uint row) {
#ifdef TRAFFIC
    slots[row][lane] = x;
    SYNCHRONIZE();
    const uint other = slots[row][partner];
#else
    SYNCHRONIZE();
    const uint other = partner;
#endif
    return (x ^ (other >> 3)) * 1664525u;
}

void main() {
    const uint lane = gl_LocalInvocationID.x;
    const uint swapped = lane ^ partner_bits;
    const uint partner = swapped < gl_WorkGroupSize.x ? swapped : lane;
    uint x = lane * 2654435761u + 1;
    for (uint k = 0; k < BARRIERS / UNROLL; ++k) {
        [[unroll]] for (uint row = 0; row < UNROLL; ++row) {
            x = stepped(x, lane, partner, row % 2);
        }
    }
    result[gl_WorkGroupID.x * gl_WorkGroupSize.x + lane] = (x + gl_WorkGroupID.x) >> 1;
}
