// The scan of a workgroup, of one word for each invocation. Include local_size.glsl before it.
//
// BY_SUBGROUP and WORK_EFFICIENT are macros: they change what a device must be able to do, and some drivers would wait at a barrier
// in a branch that a specialization constant closes.
#ifndef SCAN_STEPS_GLSL
#define SCAN_STEPS_GLSL

#if defined(BY_SUBGROUP)

#include "scan_subgroups.glsl"
#include "scan_lanes.glsl"

// The place of an invocation: which one is which lane is the driver's choice.
uint own_place() {
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}

// The sum of the words up to the invocation's own, and of all.
uint scan_row(uint word, out uint all) {
    const uint up_to_own = scan_lanes(word);
    uint before;
    share_part(of_last_lane(up_to_own), before, all);
    // The next row writes over the parts.
    barrier();
    return before + up_to_own;
}

#elif defined(WORK_EFFICIENT)

// The workgroup's size, rounded up to a power of two.
layout(constant_id = 5) const uint PADDED = 1;

shared uint slots[PADDED];

uint own_place() {
    return gl_LocalInvocationID.x;
}

// A tree of sums, upwards and down again: twice as many steps as by doubling, but each adds half as often as the one before, or
// twice as often on the way down. G. E. Blelloch: Prefix Sums and Their Applications, 1990.
uint scan_row(uint word, out uint all) {
    const uint own = gl_LocalInvocationID.x;
    slots[own] = word;
    if (own + gl_WorkGroupSize.x < PADDED) {
        slots[own + gl_WorkGroupSize.x] = 0u;
    }
    barrier();
    for (uint distance = 1u; distance < PADDED; distance *= 2u) {
        const uint at = (own + 1u) * 2u * distance - 1u;
        if (at < PADDED) {
            slots[at] += slots[at - distance];
        }
        barrier();
    }
    all = slots[PADDED - 1u];
    barrier();
    if (own == 0u) {
        slots[PADDED - 1u] = 0u;
    }
    barrier();
    for (uint distance = PADDED / 2u; distance > 0u; distance /= 2u) {
        const uint at = (own + 1u) * 2u * distance - 1u;
        if (at < PADDED) {
            const uint left = slots[at - distance];
            slots[at - distance] = slots[at];
            slots[at] += left;
        }
        barrier();
    }
    const uint sum = slots[own] + word;
    // The next row writes over it.
    barrier();
    return sum;
}

#else

const uint SIZE = gl_WorkGroupSize.x;

// Two rows, so that what a step reads isn't what it writes.
shared uint slots[2][SIZE];

uint own_place() {
    return gl_LocalInvocationID.x;
}

// Each adds what lies 1, 2, 4 and so on before it: few steps, but all add in each of them. W. D. Hillis, G. L. Steele: Data Parallel
// Algorithms, 1986.
uint scan_row(uint word, out uint all) {
    const uint own = gl_LocalInvocationID.x;
    uint row = 0u;
    slots[row][own] = word;
    barrier();
    for (uint distance = 1u; distance < SIZE; distance *= 2u) {
        word += own >= distance ? slots[row][own - distance] : 0u;
        row ^= 1u;
        slots[row][own] = word;
        barrier();
    }
    all = slots[row][SIZE - 1u];
    // The next row writes over it.
    barrier();
    return word;
}

#endif

#endif
