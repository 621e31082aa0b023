// Keys of algo/argmax: the value in the upper word, and in the lower one the value's index with all its bits inverted. The larger key
// is then the larger value and, of equal values, the one of the lower index. Zero is below all keys. Include local_size.glsl and
// grid.glsl before it.
#ifndef ARGMAX_KEYS_GLSL
#define ARGMAX_KEYS_GLSL

#include "reduction.glsl"

uvec2 key_of(uint value, uint index) {
    return uvec2(~index, value);
}

uvec2 larger(uvec2 a, uvec2 b) {
    return a.y > b.y || (a.y == b.y && a.x > b.x) ? a : b;
}

#ifdef KEYS

// The largest key of an invocation's, which an earlier dispatch left.
uvec2 own_key() {
    load_all();
    uvec2 best = held[0];
    [[unroll]] for (uint k = 1; k < UNROLL; ++k) {
        best = larger(best, held[k]);
    }
    return best;
}

#elif !defined(VECTORS)

// The key of an invocation's largest value. Its elements are in the order of their indexes, so the first of equal values stays.
uvec2 own_key() {
    load_all();
    uint best = held[0];
    uint at = 0u;
    [[unroll]] for (uint k = 1; k < UNROLL; ++k) {
        if (held[k] > best) {
            best = held[k];
            at = k;
        }
    }
    return key_of(best, own_element(at));
}

#endif

#endif
