#version 450

// What changes the module is a macro: the type, WIDTH (1, 2 or 4 to a vector), CHAINS, PAIRS, and the operation, so that a module
// has no other: some drivers go through all branches on a specialization constant, and would do every operation each time.
#if defined(F16)
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define T float16_t
#define V2 f16vec2
#define V4 f16vec4
#define REAL
#elif defined(F32)
#define T float
#define V2 vec2
#define V4 vec4
#define REAL
#elif defined(F64)
#define T double
#define V2 dvec2
#define V4 dvec4
#define REAL
#elif defined(BF16)
#extension GL_EXT_bfloat16 : require
#define T bfloat16_t
#define V2 bf16vec2
#define V4 bf16vec4
#define REAL
#elif defined(BF16_F32)
// Sums and products of float, which are rounded to bfloat16_t once in each iteration of the loop.
#extension GL_EXT_bfloat16 : require
#define T float
#define V2 vec2
#define V4 vec4
#define REAL
#define ROUNDED_TO bfloat16_t
#elif defined(I8)
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#define T int8_t
#define V2 i8vec2
#define V4 i8vec4
#elif defined(I16)
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#define T int16_t
#define V2 i16vec2
#define V4 i16vec4
#elif defined(I32)
#define T int
#define V2 ivec2
#define V4 ivec4
#elif defined(I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define T int64_t
#define V2 i64vec2
#define V4 i64vec4
#else
#error "define the type: F16, F32, F64, BF16, BF16_F32, I8, I16, I32 or I64"
#endif

#if WIDTH == 1
#define V T
#define WIDE float
#define NARROW bfloat16_t
#elif WIDTH == 2
#define V V2
#define WIDE vec2
#define NARROW bf16vec2
#else
#define V V4
#define WIDE vec4
#define NARROW bf16vec4
#endif

#include "chains.glsl"

// ---- operands -------------------------------------------------------------------------------------------------------------

#ifdef REAL
#ifndef ROUNDED_TO
#define ROUNDED_TO T
#endif
#define COEFFICIENT(words) V(T(ROUNDED_TO(uintBitsToFloat((words).x))))
// Of five bits; of one for factors that are 1 or -1, and for numbers that go round.
#if defined(MUL) || defined(FMA)
#define KEPT 1u
#else
#define KEPT 31u
#endif
T start_x(uint word) {
    return T(ROUNDED_TO(float(word & KEPT) * uintBitsToFloat(x_shape.x) + uintBitsToFloat(x_shape.y)));
}
T start_y(uint word) {
    return T(ROUNDED_TO(float(word >> 5 & KEPT) * uintBitsToFloat(y_shape.x) + uintBitsToFloat(y_shape.y)));
}
// All chains have the same coefficient. Where a compiler knows that, both halves of a packed operand are one register's half, and
// the instruction goes at half its rate (seen on an H100); so those of f16 come by different ways.
#ifdef F16
T coefficient(uint word) {
    return T(uintBitsToFloat(a.x | word & a.y));
}
#define OWN_COEFFICIENT(i, c) VECTOR(coefficient, i, c)
#endif
#else
#ifdef I64
#define WHOLE(words) (int64_t(words.x) | int64_t(words.y) << 32)
#define FULL(word) (int64_t(word) * 6364136223846793005L)
#else
#define WHOLE(words) T((words).x)
#define FULL(word) T(word)
#endif
#define COEFFICIENT(words) V(WHOLE(words))
T start_x(uint word) {
    return FULL(word) & WHOLE(x_shape) | T(1);
}
T start_y(uint word) {
    return FULL(word * 747796405u + 2891336453u) & WHOLE(y_shape) | T(1);
}
#endif

#ifndef OWN_COEFFICIENT
#define OWN_COEFFICIENT(i, c) a_
#endif

// ---- operations -----------------------------------------------------------------------------------------------------------

// A chain's state is two values. Where both change, each result is needed twice, so that no compiler can take several operations
// together; elsewhere nothing is known of the others, and rounding forbids it.

// No arithmetic is defined on bfloat16_t: it goes through float.
#ifdef BF16
#define VIA WIDE
#else
#define VIA V
#endif

#if defined(FMA) && defined(REAL)
// Of two different operands: with three, an H100's registers give 92 % of the rate of f64 and 60 % of that of f16.
#define FIRST(x, y, k) x = V(fma(VIA(y), VIA(y), VIA(k)));
#define SECOND(x, y, k) y = V(fma(VIA(x), VIA(x), VIA(k)));
#elif defined(FMA)
#define FIRST(x, y, k) x = x * a_ + y;
#define SECOND(x, y, k) y = y * a_ + x;
#elif defined(ADD) && defined(REAL)
// A sum less a term of it is the other one, if it needn't be precise.
#define PRECISE precise
#define FIRST(x, y, k) x = V(VIA(x) + VIA(y));
#define SECOND(x, y, k) y = V(VIA(y) - VIA(x));
#elif defined(ADD)
#define FIRST(x, y, k) x = x + y;
#define SECOND(x, y, k) y = y + x;
#elif defined(MUL)
#define PRECISE precise
#define FIRST(x, y, k) x = V(VIA(x) * VIA(y));
#define SECOND(x, y, k) y = V(VIA(y) * VIA(x));
#elif defined(DIV)
#define FIRST(x, y, k) x = a_ / (x + y);
#define SECOND(x, y, k) x = b_ / (x + y);
#elif defined(REM) && defined(REAL)
#define FIRST(x, y, k) x = mod(x + y, a_);
#define SECOND(x, y, k) x = mod(x + y, b_);
#elif defined(REM)
#define FIRST(x, y, k) x = (x + y) % a_;
#define SECOND(x, y, k) x = (x + y) % b_;
#elif defined(SHIFT)
#define FIRST(x, y, k) x = y >> x;
#define SECOND(x, y, k) x = a_ >> x;
#elif defined(BIT_COUNT)
#define FIRST(x, y, k) x = bitCount(x ^ y);
#define SECOND(x, y, k) x = bitCount(x ^ a_);
#else
#if defined(RCP)
#define FUNCTION(v) (V(T(1)) / (v))
#elif defined(SQRT)
#define FUNCTION sqrt
#elif defined(RSQRT)
#define FUNCTION inversesqrt
#elif defined(EXP2)
#define FUNCTION exp2
#elif defined(LOG2)
#define FUNCTION log2
#elif defined(SIN)
#define FUNCTION sin
#else
#error "define the operation: FMA, ADD, MUL, DIV, REM, RCP, SQRT, RSQRT, EXP2, LOG2, SIN, SHIFT or BIT_COUNT"
#endif
#define FIRST(x, y, k) x = FUNCTION(x + y);
#define SECOND(x, y, k) x = FUNCTION(x + a_);
#endif

#ifndef PRECISE
#define PRECISE
#endif

// ---- results --------------------------------------------------------------------------------------------------------------

// INEXACT: operations that need not round as the twin does. Their results are summed up as floats, others are mixed bit by bit.
#ifdef INEXACT
#define RESULT float
#define BITS floatBitsToUint
#define TAKE(result, value) result += float(value);
#else
#define RESULT uint
#define BITS
#if defined(F64)
#define TAKE(result, value) result = mixed(result, unpackDouble2x32(value).x + 3u * unpackDouble2x32(value).y);
#elif defined(REAL)
#define TAKE(result, value) result = mixed(result, floatBitsToUint(float(value)));
#elif defined(I64)
#define TAKE(result, value) result = mixed(result, uint(value) + 3u * uint(value >> 32));
#else
#define TAKE(result, value) result = mixed(result, uint(int(value)));
#endif
#endif

#if WIDTH == 1
#define TAKE_ALL(v) TAKE(result, v)
#elif WIDTH == 2
#define TAKE_ALL(v) TAKE(result, v.x) TAKE(result, v.y)
#else
#define TAKE_ALL(v) TAKE(result, v.x) TAKE(result, v.y) TAKE(result, v.z) TAKE(result, v.w)
#endif

#ifdef INEXACT
#define TAKE_CHAIN(c) TAKE_ALL(x##c)
#else
#define TAKE_CHAIN(c) TAKE_ALL(x##c) TAKE_ALL(y##c)
#endif

// After an iteration of the loop.
#ifdef BF16_F32
#define ROUND(c) x##c = V(NARROW(x##c)); y##c = V(NARROW(y##c));
#else
#define ROUND(c)
#endif

#define DECLARE(c) PRECISE V x##c = VECTOR(start_x, i, c), y##c = VECTOR(start_y, i, c); const V k##c = OWN_COEFFICIENT(i, c);

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    const V a_ = COEFFICIENT(a), b_ = COEFFICIENT(b);
    EACH(DECLARE)
    [[dont_unroll]] for (uint iteration = 0; iteration < iterations; ++iteration) {
        [[unroll]] for (uint block = 0; block < UNROLL; ++block) {
            BLOCK
        }
        EACH(ROUND)
    }
    RESULT result = RESULT(0);
    EACH(TAKE_CHAIN)
    results[i] = BITS(result);
}
