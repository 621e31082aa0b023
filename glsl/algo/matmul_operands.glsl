// How the kernels of algo/matmul without cooperative matrices load factors and store sums. Include matmul.glsl before it.
//
// Factors are f32; f16 or bf16, two to a word (HALVES, BFLOATS); or bytes with signs, four to a word (BYTES). The arithmetic is that of the
// sums: f32 or i32, which need no feature of a device, or f16 (HALF_SUMS).
#ifndef MATMUL_OPERANDS_GLSL
#define MATMUL_OPERANDS_GLSL

#if defined(HALF_SUMS)
#define WORD uint
#define VECTOR uvec2
#define VALUE float16_t
#define VALUE4 f16vec4
#elif defined(HALVES) || defined(BFLOATS)
#define WORD uint
#define VECTOR uvec2
#define VALUE float
#define VALUE4 vec4
#elif defined(BYTES)
#define WORD uint
#define VECTOR uint
#define VALUE int
#define VALUE4 ivec4
#else
#define WORD float
#define VECTOR vec4
#define VALUE float
#define VALUE4 vec4
#endif

// The same buffers as words and as vectors of four elements.
layout(set = 0, binding = 0) restrict readonly buffer LeftWords { WORD left_words[]; };
layout(set = 0, binding = 0) restrict readonly buffer LeftVectors { VECTOR left_vectors[]; };
layout(set = 0, binding = 1) restrict readonly buffer RightWords { WORD right_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer RightVectors { VECTOR right_vectors[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Sums { VALUE sums[]; };
layout(set = 0, binding = 2) restrict writeonly buffer SumVectors { VALUE4 sum_vectors[]; };

#if defined(HALF_SUMS)
VALUE4 values(uvec2 halves) {
    return f16vec4(unpackFloat2x16(halves.x), unpackFloat2x16(halves.y));
}
#define ELEMENT(words, i) unpackFloat2x16(words[(i) / 2u])[(i) % 2u]
#elif defined(HALVES)
VALUE4 values(uvec2 halves) {
    return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}
#define ELEMENT(words, i) unpackHalf2x16(words[(i) / 2u])[(i) % 2u]
#elif defined(BFLOATS)
// They are the upper halves of floats.
VALUE4 values(uvec2 bfloats) {
    return uintBitsToFloat(uvec4(bfloats.x << 16u, bfloats.x & 0xFFFF0000u, bfloats.y << 16u, bfloats.y & 0xFFFF0000u));
}
#define ELEMENT(words, i) uintBitsToFloat((i) % 2u == 0u ? words[(i) / 2u] << 16u : words[(i) / 2u] & 0xFFFF0000u)
#elif defined(BYTES)
VALUE4 values(uint bytes) {
    const int word = int(bytes);
    return ivec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8), bitfieldExtract(word, 16, 8), word >> 24);
}
#define ELEMENT(words, i) bitfieldExtract(int(words[(i) / 4u]), int((i) % 4u * 8u), 8)
#else
VALUE4 values(vec4 vector) {
    return vector;
}
#define ELEMENT(words, i) words[i]
#endif

VALUE left_at(uint row, uint k) {
    const uint i = LEFT_TRANSPOSED ? k * rows + row : row * inner + k;
    return ELEMENT(left_words, i);
}

VALUE right_at(uint k, uint column) {
    const uint i = RIGHT_TRANSPOSED ? column * inner + k : k * columns + column;
    return ELEMENT(right_words, i);
}

// The same, and zero for what isn't there.
VALUE left_or_zero(uint row, uint k) {
    return row < rows && k < inner ? left_at(row, k) : VALUE(0);
}

VALUE right_or_zero(uint k, uint column) {
    return k < inner && column < columns ? right_at(k, column) : VALUE(0);
}

// Four elements of a factor as it lies in memory, from this place of this row on; zero for those that aren't there.
VALUE4 left_four(uvec2 place, bool is_whole) {
    const uvec2 extent = left_extent();
    if (is_whole && WHOLE_VECTORS) {
        return values(left_vectors[(place.x * extent.y + place.y) / 4u]);
    }
    VALUE4 four = VALUE4(0);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (place.x < extent.x && place.y + e < extent.y) {
            four[e] = ELEMENT(left_words, place.x * extent.y + place.y + e);
        }
    }
    return four;
}

VALUE4 right_four(uvec2 place, bool is_whole) {
    const uvec2 extent = right_extent();
    if (is_whole && WHOLE_VECTORS) {
        return values(right_vectors[(place.x * extent.y + place.y) / 4u]);
    }
    VALUE4 four = VALUE4(0);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (place.x < extent.x && place.y + e < extent.y) {
            four[e] = ELEMENT(right_words, place.x * extent.y + place.y + e);
        }
    }
    return four;
}

// Stores four sums of a row, from this column on, as far as they are there.
void store_four(uint row, uint column, VALUE4 four) {
    if (ALL_WHOLE) {
        sum_vectors[(row * columns + column) / 4u] = four;
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (row < rows && column + e < columns) {
            sums[row * columns + column + e] = four[e];
        }
    }
}

#endif
