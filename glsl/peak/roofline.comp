#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// Of the four components of an element, those that go through multiply-adds. A macro: it changes the type that is computed with.
#if COMPONENTS == 1
#define V float
#define USED(v) (v).x
#define REST(v) (floatBitsToUint((v).y) ^ floatBitsToUint((v).z) ^ floatBitsToUint((v).w))
#define WORD(v) floatBitsToUint(v)
#elif COMPONENTS == 2
#define V vec2
#define USED(v) (v).xy
#define REST(v) (floatBitsToUint((v).z) ^ floatBitsToUint((v).w))
#define WORD(v) (floatBitsToUint((v).x) + 3u * floatBitsToUint((v).y))
#elif COMPONENTS == 4
#define V vec4
#define USED(v) (v)
#define REST(v) 0u
#define WORD(v) (floatBitsToUint((v).x) + 3u * floatBitsToUint((v).y) + 5u * floatBitsToUint((v).z) + 7u * floatBitsToUint((v).w))
#else
#error "define the components that are computed with: COMPONENTS 1, 2 or 4"
#endif

// Pairs of multiply-adds with each element. The number is a macro, 0 (for one multiply-add alone), 1, 2, 4, 8, 16 or 32; of more, LOOPED
// kernels do as many in each of their iterations.
#ifndef PAIRS
#error "define the pairs of multiply-adds: PAIRS"
#endif
layout(constant_id = 5) const uint PAIR_ITERATIONS = 1;

// Both are constant, but no compiler can know.
layout(push_constant) uniform Push {
    uint elements;
    float factor;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Data { vec4 data[]; };

vec4 element(uint k) {
    const uint i = own_element(k);
    return i < elements ? data[i] : vec4(0);
}

// What an invocation has made of its elements.
V y = V(0);
uint rest = 0;

// Takes up an element. With a factor of -1, three pairs of multiply-adds leave all as it was, and two leave but the element in y: then
// what goes on is x, which holds something of both. The other of the two goes into the rest, so that nothing is computed in vain.
void take(vec4 element) {
    V x = USED(element);
    // Turned, so that two elements that are alike don't undo each other.
    rest = (rest << 1 | rest >> 31) ^ REST(element);
#if PAIRS == 0
    y = fma(y, V(factor), x);
#else
#ifdef LOOPED
    [[dont_unroll]] for (uint iteration = 0; iteration < PAIR_ITERATIONS; ++iteration)
#endif
    {
        [[unroll]] for (uint pair = 0; pair < PAIRS; ++pair) {
            y = fma(y, V(factor), x);
            x = fma(x, V(factor), y);
        }
    }
    if (PAIRS * PAIR_ITERATIONS % 3 == 2) {
        const V element_alone = y;
        y = x;
        x = element_alone;
    }
    rest ^= WORD(x);
#endif
}

void main() {
#ifdef LOOPED
    [[dont_unroll]] for (uint k = 0; k < UNROLL; ++k) {
        take(element(k));
    }
#else
    // Loads come first: they wait for none of the arithmetic.
    vec4 own[UNROLL];
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        own[k] = element(k);
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        take(own[k]);
    }
#endif
    results[own_result()] = WORD(y) ^ rest;
}
