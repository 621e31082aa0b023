// Where the nodes of a chain lie in memory (Chain in src/catalogue/model/sequence.rs).
#ifndef CHAIN_GLSL
#define CHAIN_GLSL

// Words from one node to the next one in memory.
layout(constant_id = 3) const uint STRIDE = 16;
// Lines of 16 words that a node may begin at.
layout(constant_id = 4) const uint PLACES = 1;

// The index of a node's first word.
uint first_word(uint node) {
    return node * STRIDE + ((node * 2654435761u >> 16) * PLACES >> 16) * 16u;
}

#endif
