// How algo/conv2d loads what it multiplies, and stores what it adds up. Include conv2d.glsl before it.
#ifndef CONV2D_OPERANDS_GLSL
#define CONV2D_OPERANDS_GLSL

// Both factors are f32, or f16 (HALVES), two to a word, which needs no feature of a device. Sums are f32.
#ifdef HALVES
#define WORD uint
#define VECTOR uvec2
#else
#define WORD float
#define VECTOR vec4
#endif

// The same buffers as words and as vectors of four elements.
layout(set = 0, binding = 0) restrict readonly buffer SourceWords { WORD source_words[]; };
layout(set = 0, binding = 0) restrict readonly buffer SourceVectors { VECTOR source_vectors[]; };
layout(set = 0, binding = 1) restrict readonly buffer WeightWords { WORD weight_words[]; };
layout(set = 0, binding = 1) restrict readonly buffer WeightVectors { VECTOR weight_vectors[]; };
layout(set = 0, binding = 2) restrict writeonly buffer TargetWords { float target_words[]; };
layout(set = 0, binding = 2) restrict writeonly buffer TargetVectors { vec4 target_vectors[]; };

#ifdef HALVES
vec4 floats(uvec2 halves) {
    return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}

float source_at(uint i) {
    const vec2 pair = unpackHalf2x16(source_words[i / 2]);
    return i % 2 == 0 ? pair.x : pair.y;
}

float weight_at(uint i) {
    const vec2 pair = unpackHalf2x16(weight_words[i / 2]);
    return i % 2 == 0 ? pair.x : pair.y;
}
#else
vec4 floats(vec4 vector) {
    return vector;
}

float source_at(uint i) {
    return source_words[i];
}

float weight_at(uint i) {
    return weight_words[i];
}
#endif

// Four filters' weights for one tap and channel, from this filter on: a row of weights for each tap and channel, and zero for a row or a
// filter that isn't there.
vec4 weights_of(uint row, uint filter_index) {
    vec4 weights = vec4(0);
    if (row < TAPS * channels) {
        if (WHOLE_FILTERS) {
            if (filter_index < filters) {
                weights = floats(weight_vectors[(row * filters + filter_index) / 4]);
            }
        } else {
            [[unroll]] for (uint j = 0; j < 4; ++j) {
                if (filter_index + j < filters) {
                    weights[j] = weight_at(row * filters + filter_index + j);
                }
            }
        }
    }
    return weights;
}

// Stores four filters' sums of a pixel, from this filter on; nothing of a filter that isn't there.
void store(uint pixel, uint filter_index, vec4 sums) {
    if (WHOLE_FILTERS) {
        if (filter_index < filters) {
            target_vectors[(pixel * filters + filter_index) / 4] = sums;
        }
    } else {
        [[unroll]] for (uint j = 0; j < 4; ++j) {
            if (filter_index + j < filters) {
                target_words[pixel * filters + filter_index + j] = sums[j];
            }
        }
    }
}

#endif
