// What algo/matmul multiplies and adds up, element by element. Include matmul.glsl before it.
#ifndef MATMUL_ELEMENTS_GLSL
#define MATMUL_ELEMENTS_GLSL

// Factors are f32; or f16, two to a word, which are multiplied and added as f32 (HALVES) or as f16 (HALF_SUMS); or bf16, two to a word as
// well, as f32 (BFLOATS); or signed bytes, four to a word (BYTES).
#if defined(HALF_SUMS)
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#define FACTOR float16_t
#define SUM float16_t
#elif defined(BYTES)
#define FACTOR int
#define SUM int
#else
#define FACTOR float
#define SUM float
#endif

layout(set = 0, binding = 0) restrict readonly buffer LeftWords { uint left_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer RightWords { uint right_words[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Results { SUM results[]; };

// Elements of a word, and which of them has an index.
#if defined(HALF_SUMS)
const uint PER_WORD = 2;
FACTOR element_of(uint word, uint i) {
    return unpackFloat2x16(word)[i % 2];
}
#elif defined(HALVES)
const uint PER_WORD = 2;
FACTOR element_of(uint word, uint i) {
    return unpackHalf2x16(word)[i % 2];
}
#elif defined(BFLOATS)
// They are the upper halves of floats.
const uint PER_WORD = 2;
FACTOR element_of(uint word, uint i) {
    return uintBitsToFloat(i % 2 == 0 ? word << 16 : word & 0xFFFF0000u);
}
#elif defined(BYTES)
const uint PER_WORD = 4;
FACTOR element_of(uint word, uint i) {
    return bitfieldExtract(int(word), int(i % 4 * 8), 8);
}
#else
const uint PER_WORD = 1;
FACTOR element_of(uint word, uint i) {
    return uintBitsToFloat(word);
}
#endif

// Where elements lie in their matrices.
uint left_index(uint row, uint k) {
    return LEFT_TRANSPOSED ? k * rows + row : row * inner + k;
}

uint right_index(uint k, uint column) {
    return RIGHT_TRANSPOSED ? column * inner + k : k * columns + column;
}

FACTOR left_at(uint row, uint k) {
    const uint i = left_index(row, k);
    return element_of(left_words[i / PER_WORD], i);
}

FACTOR right_at(uint k, uint column) {
    const uint i = right_index(k, column);
    return element_of(right_words[i / PER_WORD], i);
}

void store(uint row, uint column, SUM sum) {
    if (row < rows && column < columns) {
        results[row * columns + column] = sum;
    }
}

#endif
