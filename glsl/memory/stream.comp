#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"
#include "issue.glsl"

// WIDTH (1, 2 or 4 words per element) is a macro: it changes the type of the buffers.
#if WIDTH == 1
#define ELEMENT float
#define SUM(v) (v)
#elif WIDTH == 2
#define ELEMENT vec2
#define SUM(v) ((v).x + (v).y)
#else
#define ELEMENT vec4
#define SUM(v) ((v).x + (v).y + (v).z + (v).w)
#endif

layout(constant_id = 3) const uint OP = 0;

layout(push_constant) uniform Push {
    uint elements;
    float scalar;
};

// READ is a macro as well: its result has another type, one sum per invocation.
#ifdef READ

layout(set = 0, binding = 0) restrict writeonly buffer Sums { float sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer A { ELEMENT a[]; };

// The sum of the invocation's elements, without a check where all of them are there.
ELEMENT own_sum(bool all) {
    ELEMENT sum = ELEMENT(0);
    if (!LOADS_FIRST) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = own_element(k);
            if (all || i < elements) {
                sum += a[i];
            }
        }
        return sum;
    }
    ELEMENT held[UNROLL];
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        held[k] = all || i < elements ? a[i] : ELEMENT(0);
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        sum += held[k];
    }
    return sum;
}

void main() {
    const ELEMENT sum = BY_TILE && next_first_element() <= elements ? own_sum(true) : own_sum(false);
    sums[own_result()] = SUM(sum);
}

#else

// In the order of the axis `op`, without `read`.
const uint INIT = 0, COPY = 1, SCALE = 2, TRIAD = 3, POINT3 = 4;

layout(set = 0, binding = 0) restrict writeonly buffer C { ELEMENT c[]; };
layout(set = 0, binding = 1) restrict readonly buffer A { ELEMENT a[]; };
layout(set = 0, binding = 2) restrict readonly buffer B { ELEMENT b[]; };

ELEMENT at(uint i, int offset) {
    return a[clamp(int(i) + offset, 0, int(elements) - 1)];
}

// Whole numbers that differ between neighbours: constant data would let some devices compress their writes.
ELEMENT counter(uint i) {
    return ELEMENT(i & 0xFFFFu) + scalar;
}

ELEMENT value(uint i) {
    switch (OP) {
    case INIT: return counter(i);
    case COPY: return a[i];
    case SCALE: return scalar * a[i];
    case TRIAD: return a[i] + scalar * b[i];
    case POINT3: return at(i, -1) + at(i, 0) + at(i, 1);
    default: return at(i, -2) + at(i, -1) + at(i, 0) + at(i, 1) + at(i, 2);
    }
}

// Writes the invocation's elements, without a check where all of them are there.
void write(bool all) {
    if (!LOADS_FIRST) {
        [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
            const uint i = own_element(k);
            if (all || i < elements) {
                c[i] = value(i);
            }
        }
        return;
    }
    ELEMENT held[UNROLL];
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (all || i < elements) {
            held[k] = value(i);
        }
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (all || i < elements) {
            c[i] = held[k];
        }
    }
}

void main() {
    if (BY_TILE && next_first_element() <= elements) {
        write(true);
    } else {
        write(false);
    }
}

#endif
