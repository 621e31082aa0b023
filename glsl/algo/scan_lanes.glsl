// The scan of a subgroup. Include scan_subgroups.glsl before it.
//
// It is made of shuffles, and not the subgroup operation of that name: NVIDIA's compiler (580.159.04) takes several of those in one
// iteration of a loop for the first of them, and what is one iteration after loops are unrolled is the compiler's choice.
#ifndef SCAN_LANES_GLSL
#define SCAN_LANES_GLSL

// Lanes of a full subgroup: no more than these, so that the steps are known beforehand.
layout(constant_id = 7) const uint LANES = 128;

// The sum of the words of the lanes up to the own one.
uint scan_lanes(uint word) {
    [[unroll]] for (uint distance = 1u; distance < LANES; distance *= 2u) {
        const uint other = subgroupShuffleUp(word, distance);
        word += gl_SubgroupInvocationID >= distance ? other : 0u;
    }
    return word;
}

// What the last lane has: of a scan, the sum of all.
uint of_last_lane(uint word) {
    return subgroupShuffle(word, lanes() - 1u);
}

#endif
