#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// WIDTH (words per element) is a macro: it changes the type of the elements. MIX makes one word of an element, so that no
// component can stand for another. ACCESSES of a burst: eight words of an invocation.
#if WIDTH == 1
#define ELEMENT uint
#define MIX(v) (v)
#define ACCESSES 8
#elif WIDTH == 2
#define ELEMENT uvec2
#define MIX(v) ((v).x + 3u * (v).y)
#define ACCESSES 4
#elif WIDTH == 4
#define ELEMENT uvec4
#define MIX(v) ((v).x + 3u * (v).y + 5u * (v).z + 7u * (v).w)
#define ACCESSES 2
#else
#error define WIDTH as 1, 2 or 4
#endif

// In the order of the axis.
const uint READ = 0, WRITE = 1, READ_MODIFY_WRITE = 2;

layout(constant_id = 3) const uint OP = READ;
layout(constant_id = 4) const uint ITERATIONS = 1;

// Bursts of an iteration: 32 words of an invocation, whatever the width.
const uint BURSTS = 4;
// A burst takes so many neighbouring rows, from the first or from the second one on.
const uint ROWS = ACCESSES + 1;
// Places in the source where windows begin.
const uint BEGINNINGS = 4;

layout(push_constant) uniform Push {
    // Where each burst begins, one bit for each, rotated by `turn` (1 to 31) from iteration to iteration. All are constant, but no
    // compiler can know: so no access leaves the loop, no two bursts can be told to touch the same or different words, and nothing
    // of one can be had from another.
    uint first_bits;
    uint turn;
    // Whose column an invocation reads.
    uint skew;
    // What values grow by from burst to burst.
    uint growth;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { ELEMENT source[]; };

// Rows of one element for each invocation. Neighbouring invocations have neighbouring elements, so that there are no conflicts; an
// invocation's own ones in a burst are constants apart, which a load or store instruction adds for nothing.
shared ELEMENT window[ROWS * gl_WorkGroupSize.x];

// What an iteration's accesses add up to.
ELEMENT iteration(uint bits, uint column, inout ELEMENT value) {
    ELEMENT sum = ELEMENT(0u);
    [[unroll]] for (uint burst = 0u; burst < BURSTS; ++burst) {
        const uint first = column + (bits >> burst & 1u) * gl_WorkGroupSize.x;
        [[unroll]] for (uint k = 0u; k < ACCESSES; ++k) {
            const uint i = first + k * gl_WorkGroupSize.x;
            if (OP == READ) {
                sum += window[i];
            } else if (OP == WRITE) {
                window[i] = value;
            } else {
                window[i] += value;
            }
        }
        if (OP != READ) {
            value += growth;
        }
    }
    return sum;
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    // Neighbouring workgroups have different words: what another has left in the window is no right result.
    const uint begin = linear_group() % BEGINNINGS;
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        const uint i = row * gl_WorkGroupSize.x + self;
        window[i] = source[begin + i];
    }
    barrier();
    // Writers keep to their own column.
    const uint column = OP == READ ? (self + skew) % gl_WorkGroupSize.x : self;
    ELEMENT value = source[begin + self];
    uint bits = first_bits;
    uint result = 0u;
    [[dont_unroll]] for (uint k = 0u; k < ITERATIONS; ++k) {
        const ELEMENT sum = iteration(bits, column, value);
        if (OP == READ) {
            // The order of the iterations counts, too.
            result = 3u * result + MIX(sum);
        }
        bits = bits << turn | bits >> (32u - turn);
    }
    if (OP != READ) {
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
            result = 3u * result + MIX(window[row * gl_WorkGroupSize.x + self]);
        }
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = result;
}
