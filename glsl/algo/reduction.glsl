// How the reductions of algo/ take their words: algo/reduce and algo/argmax. Include local_size.glsl and grid.glsl before it.
#ifndef REDUCTION_GLSL
#define REDUCTION_GLSL

#include "elements.glsl"

// What an element is changes the module, so macros say it: a word, unless it is four words of one load (VECTORS), the same as a
// texel of an image (SAMPLED), a word that an earlier dispatch left in an image (PARTIALS), or a key that one left in a buffer (KEYS).
#if defined(VECTORS) || defined(SAMPLED)
#define ELEMENT uvec4
const uint WIDTH = 4u;
#elif defined(KEYS)
#define ELEMENT uvec2
const uint WIDTH = 1u;
#else
#define ELEMENT uint
const uint WIDTH = 1u;
#endif

#if defined(SAMPLED) || defined(PARTIALS)
#include "reduction_image.glsl"
#else

layout(set = 0, binding = 1) restrict readonly buffer Source { ELEMENT source[]; };

layout(push_constant) uniform Push {
    // Words; of KEYS, keys. The buffer ends with a whole element, whose last words may be none of them.
    uint count;
};

// The elements that lie before the first one that lacks a word.
uint whole_elements() {
    return count / WIDTH;
}

// An element's place in the order of words.
uint place_of(uint i) {
    return i;
}

ELEMENT load(uint i) {
    return source[i];
}

#endif

// The element with zeros in the place of words that are none: no sum changes by them, and no largest value.
ELEMENT load_checked(uint i) {
    const uint place = place_of(i);
    if (place >= (count + WIDTH - 1u) / WIDTH) {
        return ELEMENT(0);
    }
#if defined(VECTORS) || defined(SAMPLED)
    const bvec4 is_word = lessThan(place * WIDTH + uvec4(0, 1, 2, 3), uvec4(count));
    return mix(uvec4(0), load(i), is_word);
#else
    return load(i);
#endif
}

// The elements of an invocation.
ELEMENT held[UNROLL];

// Loads them all before any is used, so that all loads are in flight at once: without a check where the workgroup has all of its
// elements.
void load_all() {
    if (next_first_element() <= whole_elements()) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            held[k] = load(own_element(k));
        }
    } else {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            held[k] = load_checked(own_element(k));
        }
    }
}

#endif
