#version 450

// Sums wrap.
#define RESULT uint
#include "loads.glsl"

// Which path it is is a macro: each declares another resource.
#if defined(STRUCTURED)

struct Element {
    VALUE value;
};

layout(set = 0, binding = 1) restrict readonly buffer Elements { Element elements[]; };

VALUE load(uint index) {
    return elements[index].value;
}

#elif defined(UNALIGNED)

layout(set = 0, binding = 1) restrict readonly buffer Words { uint words[]; };

// From a word on whose index is no multiple of the width.
VALUE load(uint index) {
    const uint first = COMPONENTS * index + 1;
#if COMPONENTS == 2
    return VALUE(words[first], words[first + 1]);
#else
    return VALUE(words[first], words[first + 1], words[first + 2], words[first + 3]);
#endif
}

#elif defined(UNIFORM_BUFFER)

// The length must be said: UNIFORM_BUFFER is the number of elements. 1024 make 16 KiB, which every device allows.
layout(set = 0, binding = 1) uniform Values { VALUE values[UNIFORM_BUFFER]; };

VALUE load(uint index) {
    return values[index];
}

#elif defined(PUSHED)

VALUE load(uint index) {
    return pushed[index];
}

#elif defined(SPECIALIZED)

layout(constant_id = 5) const uint WORD_0 = 0;
layout(constant_id = 6) const uint WORD_1 = 0;
layout(constant_id = 7) const uint WORD_2 = 0;
layout(constant_id = 8) const uint WORD_3 = 0;
layout(constant_id = 9) const uint WORD_4 = 0;
layout(constant_id = 10) const uint WORD_5 = 0;
layout(constant_id = 11) const uint WORD_6 = 0;
layout(constant_id = 12) const uint WORD_7 = 0;
layout(constant_id = 13) const uint WORD_8 = 0;
layout(constant_id = 14) const uint WORD_9 = 0;
layout(constant_id = 15) const uint WORD_10 = 0;
layout(constant_id = 16) const uint WORD_11 = 0;
layout(constant_id = 17) const uint WORD_12 = 0;
layout(constant_id = 18) const uint WORD_13 = 0;
layout(constant_id = 19) const uint WORD_14 = 0;
layout(constant_id = 20) const uint WORD_15 = 0;

// A variable, filled once: of a constant array the compiler would make a new copy for every load.
uint specialized[16] = uint[](WORD_0, WORD_1, WORD_2, WORD_3, WORD_4, WORD_5, WORD_6, WORD_7, WORD_8, WORD_9, WORD_10, WORD_11,
                              WORD_12, WORD_13, WORD_14, WORD_15);

VALUE load(uint index) {
    return specialized[index];
}

#else

layout(set = 0, binding = 1) restrict readonly buffer Values { VALUE values[]; };

VALUE load(uint index) {
    return values[index];
}

#endif
