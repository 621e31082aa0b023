#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "scramble.glsl"

// WIDTH (1, 2 or 4 words per element) is a macro: it changes the type of the elements. MIX makes one word of an element, so that
// no component can stand for another.
#if WIDTH == 1
#define ELEMENT uint
#define MIX(v) (v)
#elif WIDTH == 2
#define ELEMENT uvec2
#define MIX(v) ((v).x + 3u * (v).y)
#else
#define ELEMENT uvec4
#define MIX(v) ((v).x + 3u * (v).y + 5u * (v).z + 7u * (v).w)
#endif

// In the order of the axis.
const uint STRIDED = 0, BROADCAST = 1, REVERSED = 2, XOR = 3, RANDOM = 4;

layout(constant_id = 3) const uint PATTERN = STRIDED;
// Lanes of a subgroup.
layout(constant_id = 4) const uint LANES = 32;
// Elements from lane to lane, padding included.
layout(constant_id = 5) const uint ROW = 1;
// Elements of the window that all subgroups of a workgroup read.
layout(constant_id = 6) const uint ELEMENTS = 64;
layout(constant_id = 7) const uint ITERATIONS = 1;

// Loads of an iteration: consecutive elements, so that their addresses differ by constants, which a load instruction adds for
// nothing.
const uint LOADS = 16;
// Shifts of the window, one for each iteration in turn; a power of two.
const uint SHIFTS = 8;
// Places in the source where windows begin.
const uint BEGINNINGS = 4;

// Both are constant, but no compiler can know: a known alignment would let neighbouring loads become one wider load, and loads
// from a place that doesn't move would leave the loop.
layout(push_constant) uniform Push {
    uint first_shift;
    uint shift_step;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { ELEMENT source[]; };

shared ELEMENT window[ELEMENTS];

// Where a lane reads, apart from the shift and the load's own offset, which move all lanes alike and so change no conflict.
// Done once for 16 loads: its cost is small beside theirs.
uint place(uint lane, uint shift) {
    const uint block = 1u << findMSB(ROW);
    switch (PATTERN) {
    case BROADCAST: return 0u;
    case REVERSED: return (LANES - 1u - lane) * ROW;
    case XOR: return lane * ROW + ((lane ^ shift) & (block - 1u));
    case RANDOM: return lane * ROW + ((scramble(lane * SHIFTS + shift) >> 16) * ROW >> 16);
    default: return lane * ROW;
    }
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    // Neighbouring workgroups read different words: what another has left in the window is no right result.
    const uint begin = linear_group() % BEGINNINGS;
    for (uint i = self; i < ELEMENTS; i += gl_WorkGroupSize.x) {
        window[i] = source[begin + i];
    }
    barrier();
    const uint lane = self % LANES;
    uint shift = first_shift;
    uint result = 0u;
    for (uint k = 0u; k < ITERATIONS; ++k) {
        const uint first = place(lane, shift) + shift;
        ELEMENT sum = ELEMENT(0u);
        [[unroll]] for (uint j = 0u; j < LOADS; ++j) {
            sum += window[first + j];
        }
        // The order of the iterations counts, too.
        result = 3u * result + MIX(sum);
        shift = (shift + shift_step) & (SHIFTS - 1u);
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = result;
}
