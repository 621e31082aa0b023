// What arithmetic over a subgroup and over its clusters share: the operands. It includes ops.glsl.
#ifndef ARITHMETIC_GLSL
#define ARITHMETIC_GLSL

// NVIDIA's compiler (580.159.04) takes several of these operations in one iteration of a loop for the first of them, though
// each works on another operand: results were as of one operation per iteration. So an iteration has but one; beside what it
// takes, a loop is cheap.
#define ONE_BY_ONE

// In the order of the axis `op`; f32 has but the first four.
#define ADD 0
#define MUL 1
#define MIN 2
#define MAX 3
#define AND 4
#define OR 5
#define XOR 6
#define REDUCTIONS 7
#define REDUCTION (OP % REDUCTIONS)

// Factors are 1, -1, 1/2 and -1/2, told by the sign and the lowest bit of the exponent: any product of them is exact. Halves, whose
// exponents soon end, have but 1 and -1.
#if defined(F16)
#define KEPT (REDUCTION == MUL ? 0x80000000u : 0x00700000u)
#elif defined(F32)
#define KEPT (REDUCTION == MUL ? 0x80800000u : 0x007FFF80u)
#elif defined(F64)
#define KEPT (REDUCTION == MUL ? 0x80100000u : 0x000FFFFFu)
#define KEPT_LOW (REDUCTION == MUL ? 0u : 0xFFFFFF00u)
#endif

#include "ops.glsl"

// Even factors would soon leave nothing but zero, and the `and` or `or` of whole words nothing but zeros or ones. So factors are
// odd, and each lane tells two bits, one of which the next lane tells as well.
#ifdef REAL
#elif WIDTH == 64
#define OWN_BITS (T(3) << (lane.id & 63u))
#else
#define OWN_BITS T(3u << (lane.id & uint(WIDTH - 1)))
#endif
T operand(T x, Lane lane) {
#if defined(REAL)
    return x;
#elif REDUCTION == MUL
    return x | T(1);
#elif REDUCTION == AND
    return x | ~OWN_BITS;
#elif REDUCTION == OR
    return x & OWN_BITS;
#else
    return x;
#endif
}

#endif
