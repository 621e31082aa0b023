// What an invocation of algo/reduce sums up by itself. Sums wrap.
#ifndef REDUCE_OWN_GLSL
#define REDUCE_OWN_GLSL

#include "reduction.glsl"

uint own_sum() {
    load_all();
    ELEMENT sum = ELEMENT(0);
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        sum += held[k];
    }
#if defined(VECTORS) || defined(SAMPLED)
    return sum.x + sum.y + sum.z + sum.w;
#else
    return sum;
#endif
}

#endif
