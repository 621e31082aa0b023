// What arithmetic over a subgroup and over its clusters share: the operands. It includes ops.glsl.
#ifndef ARITHMETIC_GLSL
#define ARITHMETIC_GLSL

// In the order of the axis `op`; f32 has but the first four.
const uint ADD = 0, MUL = 1, MIN = 2, MAX = 3, AND = 4, OR = 5, XOR = 6;
const uint FOLDS = 7;
#define FOLD (OP % FOLDS)

#ifdef F32
// Factors are 1, -1, 1/2 and -1/2, told by the sign and the lowest bit of the exponent: any product of them is exact.
#define KEPT (FOLD == MUL ? 0x80800000u : 0x007FFF80u)
#endif

#include "ops.glsl"

#ifdef F32
T operand(T x, Lane lane) {
    return x;
}
#else
// Even factors would soon leave nothing but zero, and the `and` or `or` of whole words nothing but zeros or ones. So factors are
// odd, and each lane tells two bits, one of which the next lane tells as well.
T operand(T x, Lane lane) {
    const uint own_bits = 3u << (lane.id & 31u);
    if (FOLD == MUL) return x | T(1);
    if (FOLD == AND) return x | T(~own_bits);
    if (FOLD == OR) return x & T(own_bits);
    return x;
}
#endif

#endif
