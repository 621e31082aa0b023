// What arithmetic over a subgroup and over its clusters share: the operands. It includes ops.glsl.
#ifndef ARITHMETIC_GLSL
#define ARITHMETIC_GLSL

// NVIDIA's compiler (580.159.04) takes several of these operations in one turn of a loop for the first of them, though each works on
// another operand: results were as of one operation per turn. So a turn has but one; beside what it takes a loop is cheap.
#define ONE_BY_ONE

// In the order of the axis `op`; f32 has but the first four.
#define ADD 0
#define MUL 1
#define MIN 2
#define MAX 3
#define AND 4
#define OR 5
#define XOR 6
#define FOLDS 7
#define FOLD (OP % FOLDS)

#ifdef F32
// Factors are 1, -1, 1/2 and -1/2, told by the sign and the lowest bit of the exponent: any product of them is exact.
#define KEPT (FOLD == MUL ? 0x80800000u : 0x007FFF80u)
#endif

#include "ops.glsl"

// Even factors would soon leave nothing but zero, and the `and` or `or` of whole words nothing but zeros or ones. So factors are
// odd, and each lane tells two bits, one of which the next lane tells as well.
T operand(T x, Lane lane) {
    const uint own_bits = 3u << (lane.id & 31u);
#if defined(F32)
    return x;
#elif FOLD == MUL
    return x | T(1);
#elif FOLD == AND
    return x | T(~own_bits);
#elif FOLD == OR
    return x & T(own_bits);
#else
    return x;
#endif
}

#endif
