#ifndef SCRAMBLE_GLSL
#define SCRAMBLE_GLSL

// A number that looks random: lowbias32 (Wellons: Prospecting for Hash Functions, 2018).
uint scramble(uint x) {
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ (x >> 16);
}

#endif
