// What algo/matmul multiplies and adds up, four elements at a time. Include matmul_elements.glsl before it.
#ifndef MATMUL_VECTORS_GLSL
#define MATMUL_VECTORS_GLSL

// Whether lines of a matrix, as it lies in memory, are whole vectors: then so are loads and stores.
layout(constant_id = 7) const bool LEFT_WHOLE = true;
layout(constant_id = 8) const bool RIGHT_WHOLE = true;
layout(constant_id = 9) const bool RESULT_WHOLE = true;

// A vector is loaded as RAW and multiplied as VECTOR. Each of the four components of the latter is a factor, or with bytes four of them,
// which follow each other along k and are multiplied and added up at once.
#if defined(BYTES)
#define RAW uvec4
#define VECTOR ivec4
#define SUMS ivec4
#elif defined(HALF_SUMS)
#define RAW uvec2
#define VECTOR f16vec4
#define SUMS f16vec4
#elif defined(HALVES) || defined(BFLOATS)
#define RAW uvec2
#define VECTOR vec4
#define SUMS vec4
#else
#define RAW uvec4
#define VECTOR vec4
#define SUMS vec4
#endif

#ifdef BYTES
const uint PACK = 4;
#else
const uint PACK = 1;
#endif

// Words of a RAW.
const uint RAW_WORDS = 4 * PACK / PER_WORD;

layout(set = 0, binding = 0) restrict readonly buffer LeftVectors { RAW left_vectors[]; };
layout(set = 0, binding = 1) restrict readonly buffer RightVectors { RAW right_vectors[]; };
layout(set = 0, binding = 2) restrict writeonly buffer ResultVectors { SUMS result_vectors[]; };

// Both sides are alike, rows of the left one and columns of the right one being lines that all k of a sum lie in. Where they lie in memory
// so, a vector goes along k; else across lines, of which it has four at one k, or one pack of k.
bool is_along_k(bool is_right) {
    return is_right ? RIGHT_TRANSPOSED : !LEFT_TRANSPOSED;
}

uint lines_of(bool is_right) {
    return is_right ? columns : rows;
}

uint word_of(bool is_right, uint i) {
    if (is_right) {
        return right_words[i];
    }
    return left_words[i];
}

RAW vector_of(bool is_right, uint i) {
    if (is_right) {
        return right_vectors[i];
    }
    return left_vectors[i];
}

// The elements of a vector one by one, zeros where the matrix has none.
RAW gathered(bool is_right, uint line, uint k, bool is_inside) {
    const bool is_along = is_along_k(is_right);
    const uint lines = lines_of(is_right);
    RAW raw = RAW(0);
    [[unroll]] for (uint w = 0; w < RAW_WORDS; ++w) {
        [[unroll]] for (uint e = 0; e < PER_WORD; ++e) {
            const uvec2 across = PACK == 1 ? uvec2(w * PER_WORD + e, 0) : uvec2(e, w);
            const uvec2 place = uvec2(line, k) + (is_along ? uvec2(0, w * PER_WORD + e) : across);
            if (is_inside || place.x < lines && place.y < inner) {
                const uint i = is_along ? place.x * inner + place.y : place.y * lines + place.x;
                const uint bits = word_of(is_right, i / PER_WORD) >> i % PER_WORD * (32 / PER_WORD);
                raw[w] |= (PER_WORD == 1 ? bits : bits & (1u << 32 / PER_WORD) - 1) << e * (32 / PER_WORD);
            }
        }
    }
    return raw;
}

// A vector that begins in this line, at this k: zeros where the matrix has no element, unless it has all (is_inside).
RAW loaded(bool is_right, uint line, uint k, bool is_inside) {
    const bool is_along = is_along_k(is_right);
    const uint lines = lines_of(is_right);
    if (!(is_right ? RIGHT_WHOLE : LEFT_WHOLE)) {
        return gathered(is_right, line, k, is_inside);
    }
    if (!is_inside && (line >= lines || k >= inner)) {
        return RAW(0);
    }
    if (is_along) {
        return vector_of(is_right, line * (inner / (4 * PACK)) + k / (4 * PACK));
    }
#ifdef BYTES
    RAW raw = RAW(0);
    [[unroll]] for (uint w = 0; w < 4; ++w) {
        if (is_inside || k + w < inner) {
            raw[w] = word_of(is_right, (k + w) * (lines / 4) + line / 4);
        }
    }
    return raw;
#else
    return vector_of(is_right, k * (lines / 4) + line / 4);
#endif
}

// What is loaded as it is multiplied: with bytes, four of one k in each word become four of one line.
#if defined(BYTES)
VECTOR converted(RAW raw, bool is_along) {
    if (is_along) {
        return VECTOR(raw);
    }
    const uvec2 even = (raw.xz & 0x00FF00FFu) | (raw.yw & 0x00FF00FFu) << 8;
    const uvec2 odd = (raw.xz >> 8 & 0x00FF00FFu) | (raw.yw & 0xFF00FF00u);
    return VECTOR(
        (even.x & 0xFFFFu) | even.y << 16, (odd.x & 0xFFFFu) | odd.y << 16, even.x >> 16 | (even.y & 0xFFFF0000u),
        odd.x >> 16 | (odd.y & 0xFFFF0000u)
    );
}
#elif defined(HALF_SUMS)
VECTOR converted(RAW raw, bool is_along) {
    return VECTOR(unpackFloat2x16(raw.x), unpackFloat2x16(raw.y));
}
#elif defined(BFLOATS)
VECTOR converted(RAW raw, bool is_along) {
    return uintBitsToFloat(uvec4(raw.x << 16, raw.x & 0xFFFF0000u, raw.y << 16, raw.y & 0xFFFF0000u));
}
#elif defined(HALVES)
VECTOR converted(RAW raw, bool is_along) {
    return VECTOR(unpackHalf2x16(raw.x), unpackHalf2x16(raw.y));
}
#else
VECTOR converted(RAW raw, bool is_along) {
    return uintBitsToFloat(raw);
}
#endif

// Adds the products of one row with four columns.
#ifdef BYTES
#ifdef PACKED_DOT
int dot_of(int left, int right) {
    return dotPacked4x8EXT(left, right);
}
#else
int dot_of(int left, int right) {
    int sum = 0;
    [[unroll]] for (int i = 0; i < 32; i += 8) {
        sum += bitfieldExtract(left, i, 8) * bitfieldExtract(right, i, 8);
    }
    return sum;
}
#endif
void add_products(inout SUMS sums, FACTOR left, VECTOR right) {
    sums += SUMS(dot_of(left, right.x), dot_of(left, right.y), dot_of(left, right.z), dot_of(left, right.w));
}
#else
void add_products(inout SUMS sums, FACTOR left, VECTOR right) {
    sums += left * right;
}
#endif

// Stores four columns' sums of a row, from this column on; nothing of a column that isn't there.
void store_four(uint row, uint column, SUMS sums) {
    if (RESULT_WHOLE) {
        if (row < rows && column < columns) {
            result_vectors[row * (columns / 4) + column / 4] = sums;
        }
    } else {
        [[unroll]] for (uint j = 0; j < 4; ++j) {
            store(row, column + j, sums[j]);
        }
    }
}

#endif
