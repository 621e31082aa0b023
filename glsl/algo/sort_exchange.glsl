// The pairs of a step of a bitonic sort, all of which bring the smaller key to the front. Where no power of two of keys is there, those
// that are missing count as larger than all: they never move, so that pairs with them are left out.
#ifndef SORT_EXCHANGE_GLSL
#define SORT_EXCHANGE_GLSL

// A pair's first key: half of each block of 2 * half keys is first in a pair. The second one's place has the bits of the step's mask
// flipped: of mask 2 * half - 1 it is the mirrored one of the block, of mask `half` the one half a block later.
uint first_of_pair(uint pair, uint half_block) {
    return ((pair & ~(half_block - 1u)) << 1) | (pair & (half_block - 1u));
}

#endif
