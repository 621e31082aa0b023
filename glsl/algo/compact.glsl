// What all kernels of algo/compact have in common: which words are kept.
#ifndef COMPACT_GLSL
#define COMPACT_GLSL

layout(push_constant) uniform Push {
    // Words of the array.
    uint size;
    // The words below it are kept.
    uint threshold;
};

// Is no less than any threshold.
const uint NOT_KEPT = ~0u;

bvec4 is_kept(uvec4 words) {
    return lessThan(words, uvec4(threshold));
}

#endif
