// What the kernels of this family share: which elements an invocation loads, and what becomes of the values. A kernel says what
// a value is, includes this, and defines `load`, which is what it is about.
#ifndef LOADS_GLSL
#define LOADS_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "values.glsl"

// RESULT, what an invocation writes, is a macro: it is a type.

// Loads per invocation, a multiple of LOADS_PER_ITERATION.
layout(constant_id = 3) const uint LOADS = 256;
// Which elements lanes load at a time, in the order of the axis `pattern`.
layout(constant_id = 4) const uint PATTERN = 0;
const uint UNIFORM = 0, LINEAR = 1;

// Loads of one iteration of the loop. They don't depend on each other, and the loop itself hardly counts.
const uint LOADS_PER_ITERATION = 16;
// What leads from an iteration's index to its k-th load, and how far it is from one iteration to the next one.
//
// FEW is a macro: it says that the elements are so few, 64 at most, that steps with a common factor would lead to some of them
// again and again, and past the others. Odd ones lead to all; those within an iteration are one and two by turns, or it would load all
// elements of 16 alike, and its sum would not tell where it began.
#ifdef FEW
#define LEAD(k) ((k) * 3 / 2)
const uint STEP_OF_ITERATION = 49;
#else
// The first is a multiple of four, so that no two loads of a lane are neighbours that a compiler could join; the second is one
// of 32, so that the lines that neighbouring lanes load stay whole.
#define LEAD(k) ((k) * 12)
const uint STEP_OF_ITERATION = 96;
#endif

layout(push_constant) uniform Push {
    uint invocations;
    // The number of elements less one. No compiler knows it, so that it can tell nothing of an address.
    uint mask;
#ifdef PUSHED
    uint pushed[PUSHED];
#endif
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { RESULT results[]; };

// The element at an index up to `mask`.
VALUE load(uint index);

// A hash by Chris Wellons (lowbias32), which spreads numbers over 32 bits.
uint scattered(uint x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

// Where an invocation begins.
uint first_index() {
    const uint group = linear_group();
    if (PATTERN == UNIFORM) return scattered(group);
    if (PATTERN == LINEAR) return scattered(group) * 32 + gl_LocalInvocationID.x;
    return scattered(group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
}

void main() {
    const uint first = first_index();
    VALUE total = VALUE(0);
    [[dont_unroll]] for (uint iteration = 0; iteration < LOADS / LOADS_PER_ITERATION; ++iteration) {
        const uint index = first + iteration * STEP_OF_ITERATION;
        VALUE sum = VALUE(0);
        [[unroll]] for (uint k = 0; k < LOADS_PER_ITERATION; ++k) {
            sum += load((index ^ LEAD(k)) & mask);
        }
        // Iterations count differently, so that the result tells in which order they were.
        total += VALUE(iteration + 1) * WHOLE(sum);
    }
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i < invocations) {
        results[i] = COMBINED(total);
    }
}

#endif
