#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// The job (REDUCE, SCAN or BROADCAST) and who does it (BY_SUBGROUP, or else workgroup memory) are macros: they change what a device
// must be able to do, and some drivers would wait at a barrier in a branch that a specialization constant closes. So is ALONE,
// where a workgroup has but one subgroup. UNROLLED, which is the workgroup's size, has the steps of tree and scan one
// after the other, without a loop.
#ifdef BY_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#ifdef BROADCAST
#extension GL_KHR_shader_subgroup_ballot : require
#else
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#endif

// Jobs, each of which needs the result of the one before.
layout(constant_id = 3) const uint JOBS = 1;
#if defined(BY_SUBGROUP) && !defined(ALONE)
// Subgroups of a workgroup.
layout(constant_id = 4) const uint SUBGROUPS = 1;
#endif

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Words { uint words[]; };

const uint SIZE = gl_WorkGroupSize.x;

#ifdef BY_SUBGROUP

// Which invocation is which lane is the driver's choice: lanes stand in their own order.
uint self() {
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

bool is_last_lane() {
    return gl_SubgroupInvocationID == min(gl_SubgroupSize, SIZE - gl_SubgroupID * gl_SubgroupSize) - 1u;
}

#ifndef ALONE
// Of this job and of the next one: so one barrier is enough.
shared uint parts[2][SUBGROUPS];
#endif

#if defined(REDUCE)

uint job(uint x, uint number) {
    const uint part = subgroupAdd(x);
#ifdef ALONE
    return part;
#else
    const uint row = number & 1u;
    if (gl_SubgroupInvocationID == 0u) {
        parts[row][gl_SubgroupID] = part;
    }
    barrier();
    // One by one: some compilers take two subgroup operations in one iteration of a loop for the same.
    uint sum = 0u;
    for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        sum += parts[row][subgroup];
    }
    return sum;
#endif
}

#elif defined(SCAN)

uint job(uint x, uint number) {
    const uint up_to_own = subgroupInclusiveAdd(x);
#ifdef ALONE
    return up_to_own;
#else
    const uint row = number & 1u;
    if (is_last_lane()) {
        parts[row][gl_SubgroupID] = up_to_own;
    }
    barrier();
    uint sum = up_to_own;
    for (uint subgroup = 0u; subgroup < gl_SubgroupID; ++subgroup) {
        sum += parts[row][subgroup];
    }
    return sum;
#endif
}

#elif defined(BROADCAST)

uint job(uint x, uint number) {
#ifdef ALONE
    return subgroupBroadcastFirst(x);
#else
    const uint row = number & 1u;
    if (self() == 0u) {
        parts[row][0] = x;
    }
    barrier();
    uint value = 0u;
    if (gl_SubgroupInvocationID == 0u) {
        value = parts[row][0];
    }
    return subgroupBroadcastFirst(value);
#endif
}

#else
#error "define the job: REDUCE, SCAN or BROADCAST"
#endif

#else

uint self() {
    return gl_LocalInvocationID.x;
}

// Two rows, so that what a step reads isn't what the next one writes.
shared uint slots[2][SIZE];

#if defined(REDUCE)

#ifdef UNROLLED

// A step of the tree: as many as `half_size` add what lies so far behind them, if there is something.
void add_upper_half(uint row, uint own, uint half_size) {
    if (own < min(half_size, SIZE - half_size)) {
        slots[row][own] += slots[row][own + half_size];
    }
    barrier();
}

// The tree, with steps as the size has them: UNROLLED is that size, and at most 2048.
uint job(uint x, uint number) {
    const uint row = number & 1u;
    const uint own = self();
    slots[row][own] = x;
    barrier();
#if UNROLLED > 1024
    add_upper_half(row, own, 1024u);
#endif
#if UNROLLED > 512
    add_upper_half(row, own, 512u);
#endif
#if UNROLLED > 256
    add_upper_half(row, own, 256u);
#endif
#if UNROLLED > 128
    add_upper_half(row, own, 128u);
#endif
#if UNROLLED > 64
    add_upper_half(row, own, 64u);
#endif
#if UNROLLED > 32
    add_upper_half(row, own, 32u);
#endif
#if UNROLLED > 16
    add_upper_half(row, own, 16u);
#endif
#if UNROLLED > 8
    add_upper_half(row, own, 8u);
#endif
#if UNROLLED > 4
    add_upper_half(row, own, 4u);
#endif
#if UNROLLED > 2
    add_upper_half(row, own, 2u);
#endif
#if UNROLLED > 1
    add_upper_half(row, own, 1u);
#endif
    return slots[row][0];
}

#else

// A tree: in each step, half as many add what the other half has.
uint job(uint x, uint number) {
    const uint row = number & 1u;
    const uint own = self();
    slots[row][own] = x;
    barrier();
    for (uint half_size = SIZE > 1u ? 1u << findMSB(SIZE - 1u) : 0u; half_size > 0u; half_size /= 2u) {
        if (own < half_size && own + half_size < SIZE) {
            slots[row][own] += slots[row][own + half_size];
        }
        barrier();
    }
    return slots[row][0];
}

#endif

#elif defined(SCAN)

#ifdef UNROLLED
#define STEPS [[unroll]]
#else
#define STEPS
#endif

// Each adds what lies 1, 2, 4 and so on before it (Hillis and Steele: Data Parallel Algorithms, 1986).
uint job(uint x, uint number) {
    const uint own = self();
    uint row = number & 1u;
    slots[row][own] = x;
    barrier();
    STEPS for (uint distance = 1u; distance < SIZE; distance *= 2u) {
        x += own >= distance ? slots[row][own - distance] : 0u;
        row ^= 1u;
        slots[row][own] = x;
        barrier();
    }
    return x;
}

#elif defined(BROADCAST)

uint job(uint x, uint number) {
    const uint row = number & 1u;
    if (self() == 0u) {
        slots[row][0] = x;
    }
    barrier();
    return slots[row][0];
}

#else
#error "define the job: REDUCE, SCAN or BROADCAST"
#endif

#endif

void main() {
    const uint i = linear_group() * SIZE + self();
    const uint term = words[i];
    uint x = term;
    [[dont_unroll]] for (uint number = 0u; number < JOBS; ++number) {
        const uint result = job(x, number);
        // The upper bits come down: sums of as many as a power of two would soon have lost the lower ones.
        x = (result ^ (result >> 15)) * 1664525u + term;
    }
    results[i] = x;
}
