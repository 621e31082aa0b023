#version 450
#extension GL_EXT_integer_dot_product : require

// What changes the module is a macro: the signs, CHAINS, PAIRS, and whether the sum saturates (SATURATING).
#if defined(UNSIGNED)
#define V uint
#define FACTOR uint
#elif defined(SIGNED)
#define V int
#define FACTOR int
#elif defined(MIXED)
#define V int
#define FACTOR uint
#else
#error "define the signs: UNSIGNED, SIGNED or MIXED"
#endif

#define WIDTH 1
#include "chains.glsl"

V start_x(uint word) {
    return V(word);
}
V start_y(uint word) {
    return V(word * 747796405u + 2891336453u & y_shape.x);
}

// Four products of bytes, their sum, and what it is added to. y stays as it is, and is small enough to leave room for any sum: else
// all would soon be saturated.
#ifdef SATURATING
#define DOT(x, factors, y) dotPacked4x8AccSatEXT(x, factors, y)
#else
#define DOT(x, factors, y) (dotPacked4x8EXT(x, factors) + y)
#endif
#define FIRST(x, y, k) x = DOT(x, a_, y);
#define SECOND(x, y, k) x = DOT(x, b_, y);

#define DECLARE(c) V x##c = VECTOR(start_x, i, c), y##c = VECTOR(start_y, i, c);
#define TAKE(c) result = mixed(result, uint(x##c));

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    const FACTOR a_ = FACTOR(a.x), b_ = FACTOR(b.x);
    EACH(DECLARE)
    [[dont_unroll]] for (uint iteration = 0; iteration < iterations; ++iteration) {
        [[unroll]] for (uint block = 0; block < UNROLL; ++block) {
            BLOCK
        }
    }
    uint result = 0;
    EACH(TAKE)
    results[i] = result;
}
