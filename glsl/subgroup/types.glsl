// What operations work on. The type is a macro: it changes the module and what a device must be able to do. Each type says
// - T, and WIDTH, its bits
// - BITS(x), a word of a value's bits, and VALUE(word), a value of them: for what isn't measured in the type as well
// - operand_of(word), a word as an operand; stir(result, term), the next operand
// - STORED, and stored(x), what of it is written: all of its bits
#ifndef TYPES_GLSL
#define TYPES_GLSL

#if defined(F16)
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#define T float16_t
// Every half is a float: a device that has halves needs no words of 16 bits.
#define BITS(value) floatBitsToUint(float(value))
#define VALUE(word) float16_t(uintBitsToFloat(word))
#define REAL
#elif defined(F32)
#define T float
#define BITS(value) floatBitsToUint(value)
#define VALUE(word) uintBitsToFloat(word)
#define REAL
#elif defined(F64)
#define T double
#define BITS(value) (unpackDouble2x32(value).x ^ unpackDouble2x32(value).y)
#define VALUE(word) packDouble2x32(uvec2(0, word))
#define REAL
#elif defined(U8)
#define T uint8_t
#define WIDTH 8
#elif defined(I8)
#define T int8_t
#define WIDTH 8
#define SIGNED
#elif defined(U16)
#define T uint16_t
#define WIDTH 16
#elif defined(I16)
#define T int16_t
#define WIDTH 16
#define SIGNED
#elif defined(U64)
#define T uint64_t
#define WIDTH 64
#elif defined(I64)
#define T int64_t
#define WIDTH 64
#define SIGNED
#elif defined(I32)
#define T int
#define WIDTH 32
#define SIGNED
#else
#define T uint
#define WIDTH 32
#endif

#if defined(U8) || defined(I8)
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_subgroup_extended_types_int8 : require
#elif defined(U16) || defined(I16)
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#elif defined(U64) || defined(I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif

#ifndef REAL
#define BITS(value) uint(value)
#define VALUE(word) T(word)
#endif

// Of a float's bits, those that a word tells; the others are those of 1, so that operands lie in [1, 2). Sums of 128 must be exact:
// in f32 steps are of 2^-16, in f64 of 2^-44 (the lower word has 24 bits of it), in f16 of 2^-3, or where nothing is summed up 2^-10.
#if defined(REAL) && !defined(KEPT)
#if defined(F16)
#define KEPT 0x007FE000u
#elif defined(F32)
#define KEPT 0x007FFF80u
#else
#define KEPT 0x000FFFFFu
#endif
#endif
#if defined(F64) && !defined(KEPT_LOW)
#define KEPT_LOW 0xFFFFFF00u
#endif

#if defined(F64)

T operand_of(uint word) {
    return packDouble2x32(uvec2((word * 0x9E3779B1u) & KEPT_LOW, (word & KEPT) ^ 0x3FF00000u));
}

#elif defined(REAL)

T operand_of(uint word) {
    return VALUE((word & KEPT) ^ floatBitsToUint(1.0));
}

#elif defined(U64) || defined(I64)

T operand_of(uint word) {
    return T(uint64_t(word) * 0x9E3779B97F4A7C15ul);
}

#else

// The upper bits: products mix them best.
T operand_of(uint word) {
    return T(word >> (32 - WIDTH));
}

#endif

#if defined(U64) || defined(I64)

T stir(T result, uint term) {
    return T(uint64_t(result) * 6364136223846793005ul + uint64_t(term));
}

#define STORED uvec2
STORED stored(T x) {
    return uvec2(uint(x), uint(x >> 32));
}

#else

T stir(T result, uint term) {
    return operand_of(BITS(result) * 1664525u + term);
}

#if defined(F64)
#define STORED uvec2
#define stored(value) unpackDouble2x32(value)
#else
#define STORED uint
#define stored(value) BITS(value)
#endif

#endif

#endif
