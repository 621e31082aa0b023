// What all kernels of algo/scan have in common: target[i] = source[0] + ... + source[i], in 32 bits that wrap around.
#ifndef SCAN_GLSL
#define SCAN_GLSL

layout(push_constant) uniform Push {
    // Words of the array.
    uint size;
};

#endif
