// What the radix kernels of algo/sort have in common. Include local_size.glsl and grid.glsl before it.
#ifndef SORT_GLSL
#define SORT_GLSL

// Keys that an invocation takes.
layout(constant_id = 3) const uint ITEMS = 16;

// Keys that a workgroup takes.
const uint TILE = gl_WorkGroupSize.x * ITEMS;

// Keys, the tiles that they make, of which the last may be ragged, and how far the digit of this pass lies above the lowest bit.
layout(push_constant) uniform Push {
    uint n;
    uint tiles;
    uint shift;
};

// How many keys there are of those that a tile has room for.
uint extent_of(uint tile) {
    return min(TILE, n - tile * TILE);
}

#endif
