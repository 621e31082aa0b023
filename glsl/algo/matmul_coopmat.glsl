// What the kernels of algo/matmul on cooperative matrices have in common: their operands. Include matmul.glsl before it.
//
// A is the type of the matrices, A_BYTES its size; C and C_BYTES those of the sums.
#ifndef MATMUL_COOPMAT_GLSL
#define MATMUL_COOPMAT_GLSL
#ifndef A
#error "A, A_BYTES, C and C_BYTES must be defined"
#endif

// All tiles and steps are whole, and rows of all matrices are whole vectors of 16 bytes.
layout(constant_id = 7) const bool ALL_WHOLE = false;
// Rows of both factors are whole vectors, whether or not tiles are whole.
layout(constant_id = 8) const bool WHOLE_VECTORS = false;
// How far a step goes along what is summed: whole matrices, and whole vectors.
layout(constant_id = 9) const uint TILE_K = 32u;

// Elements of a vector of 16 bytes.
const uint VECTOR = 16u / A_BYTES;

layout(set = 0, binding = 0) restrict readonly buffer LeftVectors { uvec4 left_vectors[]; };
layout(set = 0, binding = 0) restrict readonly buffer LeftWords { uint left_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer RightVectors { uvec4 right_vectors[]; };
layout(set = 0, binding = 1) restrict readonly buffer RightWords { uint right_words[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Sums { C sums[]; };

// Rows of each factor as it lies in memory, and how long they are.
uvec2 left_extent() {
    return LEFT_TRANSPOSED ? uvec2(inner, rows) : uvec2(rows, inner);
}

uvec2 right_extent() {
    return RIGHT_TRANSPOSED ? uvec2(columns, inner) : uvec2(inner, columns);
}

// A vector of a factor's rows, from an element on; what isn't there is zero. `is_whole` is the same for all of a workgroup.
#define LOADER(NAME, VECTORS, WORDS)                                                                                               \
    uvec4 NAME(uvec2 place, uvec2 extent, bool is_whole) {                                                                         \
        const uint first = place.x * extent.y + place.y;                                                                           \
        if (is_whole) {                                                                                                            \
            return VECTORS[first / VECTOR];                                                                                        \
        }                                                                                                                          \
        uvec4 vector = uvec4(0u);                                                                                                  \
        [[unroll]] for (uint e = 0u; e < VECTOR; ++e) {                                                                            \
            if (place.x < extent.x && place.y + e < extent.y) {                                                                    \
                const uint byte = (first + e) * A_BYTES;                                                                           \
                const uint bits = bitfieldExtract(WORDS[byte / 4u], int(byte % 4u * 8u), int(A_BYTES * 8u));                       \
                vector[e * A_BYTES / 4u] |= bits << (e * A_BYTES % 4u * 8u);                                                       \
            }                                                                                                                      \
        }                                                                                                                          \
        return vector;                                                                                                             \
    }

LOADER(left_vector, left_vectors, left_words)
LOADER(right_vector, right_vectors, right_words)

#endif
