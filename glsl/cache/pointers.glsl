// Nodes that hold where the next one is in memory: an address, so that a hop is a load and nothing else. Include this first.
#ifndef POINTERS_GLSL
#define POINTERS_GLSL

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

// The words of a node that hold the next one's address, its lower half first, behind the two that hold its index and noise.
const uint POINTER = 2;

// What an address leads to: the next one. Two words hold it, since some drivers crash on pointers that loops carry along. It isn't
// declared `restrict readonly`: so declared, a hop took 19.0 ns and not 16.3 on an H100.
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pointer { uvec2 next; };

// The address of a word of the nodes, which begin at an address.
uvec2 address_of(uvec2 nodes, uint word) {
    uint carry;
    const uint low = uaddCarry(nodes.x, word << 2, carry);
    return uvec2(low, nodes.y + (word >> 30) + carry);
}

// The word at an address: the other way round.
uint word_at(uvec2 nodes, uvec2 address) {
    uint borrow;
    const uint low = usubBorrow(address.x, nodes.x, borrow);
    return (low >> 2) | (address.y - nodes.y - borrow) << 30;
}

#endif
