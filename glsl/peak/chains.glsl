// What kernels of nothing but arithmetic share: chains of dependent operations and their loop. A kernel defines V, the type of
// operands, includes this, and defines FIRST(x, y, k) and SECOND(x, y, k): the two operations that follow each other in a chain,
// whose state is x and y, and whose own coefficient, if it has one, is k. All kernels have the same Push, of which they may leave a part unused.
#ifndef CHAINS_GLSL
#define CHAINS_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// Blocks of operations in an iteration of the loop.
layout(constant_id = 3) const uint UNROLL = 1;

// All are constant, but no compiler can know: what is known would be folded.
layout(push_constant) uniform Push {
    // Of 64 bits the lower half comes first; a float is told as such, in the first word.
    uvec2 a;
    uvec2 b;
    // What makes starts of words: a mask of 64 bits, or a scale and an offset.
    uvec2 x_shape;
    uvec2 y_shape;
    uint iterations;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Starts { uint starts[]; };

// Where a component of a chain starts: one of 32 words. How those of an invocation differ, no compiler can know.
uint start(uint i, uint chain, uint component) {
    return starts[(i + chain * WIDTH + component) & 31u];
}

// Takes a word up into a result. Turned, since signs are in the highest bit, which a product alone leaves there.
uint mixed(uint result, uint word) {
    return 31u * (result << 5 | result >> 27) + word;
}

// One statement for each chain. CHAINS (1, 2, 4 or 8) is a macro: each is two variables, which no compiler has to find in an array.
#if CHAINS == 1
#define EACH(DO) DO(0)
#elif CHAINS == 2
#define EACH(DO) DO(0) DO(1)
#elif CHAINS == 4
#define EACH(DO) DO(0) DO(1) DO(2) DO(3)
#elif CHAINS == 8
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#error "define the number of chains: CHAINS 1, 2, 4 or 8"
#endif

// Vectors of starts and of what is made of them.
#if WIDTH == 1
#define VECTOR(OF, i, c) V(OF(start(i, c, 0u)))
#elif WIDTH == 2
#define VECTOR(OF, i, c) V(OF(start(i, c, 0u)), OF(start(i, c, 1u)))
#elif WIDTH == 4
#define VECTOR(OF, i, c) V(OF(start(i, c, 0u)), OF(start(i, c, 1u)), OF(start(i, c, 2u)), OF(start(i, c, 3u)))
#else
#error "define the components of a vector: WIDTH 1, 2 or 4"
#endif

// Chains take turns, so that neighbouring operations don't wait for each other.
#define DO_FIRST(c) FIRST(x##c, y##c, k##c)
#define DO_SECOND(c) SECOND(x##c, y##c, k##c)
#define PAIR EACH(DO_FIRST) EACH(DO_SECOND)
#define PAIRS_2 PAIR PAIR
#define PAIRS_8 PAIRS_2 PAIRS_2 PAIRS_2 PAIRS_2

// PAIRS (1, 2 or 8) of operations make a block, by hand: it is the driver's choice what becomes of a loop.
#if PAIRS == 1
#define BLOCK PAIR
#elif PAIRS == 2
#define BLOCK PAIRS_2
#elif PAIRS == 8
#define BLOCK PAIRS_8
#else
#error "define the pairs of operations in a block: PAIRS 1, 2 or 8"
#endif

#endif
