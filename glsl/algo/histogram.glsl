// What all kernels of algo/histogram have in common: the keys, the bins, and how the keys are dealt to workgroups. A kernel
// defines count(), which counts one key, and calls count_keys(). Include local_size.glsl and grid.glsl before it.
#ifndef HISTOGRAM_GLSL
#define HISTOGRAM_GLSL

// WIDTH (1 or 4 keys a load) is a macro: it changes the type of the buffer.
#if WIDTH == 1
#define ELEMENT uint
#elif WIDTH == 4
#define ELEMENT uvec4
#else
#error "define WIDTH: 1 or 4 keys a load"
#endif

// A bin for each value of a key's top byte.
const uint BINS = 256;

// Keys that an invocation loads before it counts the first.
layout(constant_id = 3) const uint ITEMS = 4;

layout(set = 0, binding = 0) restrict buffer Bins { uint bins[]; };
// Its last element may hold more words than there are keys.
layout(set = 0, binding = 1) restrict readonly buffer Keys { ELEMENT keys[]; };

layout(push_constant) uniform Push {
    uint key_count;
};

// Elements that an invocation and a workgroup take at once.
const uint ELEMENTS = ITEMS / WIDTH;
const uint TILE = ELEMENTS * gl_WorkGroupSize.x;

uint bin_of(uint key) {
    return key >> 24;
}

void count(uint key);

// Neighbouring invocations take neighbouring elements; one invocation's own lie a workgroup apart.
uint own_element(uint tile, uint k) {
    return tile * TILE + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

// All loads are in flight before the first key is counted.
void count_whole_tile(uint tile) {
    ELEMENT held[ELEMENTS];
    [[unroll]] for (uint k = 0; k < ELEMENTS; ++k) {
        held[k] = keys[own_element(tile, k)];
    }
    [[unroll]] for (uint k = 0; k < ELEMENTS; ++k) {
#if WIDTH == 1
        count(held[k]);
#else
        [[unroll]] for (uint component = 0; component < WIDTH; ++component) {
            count(held[k][component]);
        }
#endif
    }
}

// The same of the last tile, which isn't full.
void count_ragged_tile(uint tile) {
    const uint elements = (key_count + WIDTH - 1) / WIDTH;
    ELEMENT held[ELEMENTS];
    [[unroll]] for (uint k = 0; k < ELEMENTS; ++k) {
        const uint i = own_element(tile, k);
        held[k] = i < elements ? keys[i] : ELEMENT(0);
    }
    [[unroll]] for (uint k = 0; k < ELEMENTS; ++k) {
        const uint first = own_element(tile, k) * WIDTH;
#if WIDTH == 1
        if (first < key_count) {
            count(held[k]);
        }
#else
        [[unroll]] for (uint component = 0; component < WIDTH; ++component) {
            if (first + component < key_count) {
                count(held[k][component]);
            }
        }
#endif
    }
}

// The workgroup's share: one tile after the other, a grid apart.
void count_keys() {
    const uint whole_tiles = key_count / (TILE * WIDTH);
    uint tile = linear_group();
    for (; tile < whole_tiles; tile += gl_NumWorkGroups.x * gl_NumWorkGroups.y) {
        count_whole_tile(tile);
    }
    // What is left of the keys is the turn of one workgroup.
    if (tile == whole_tiles) {
        count_ragged_tile(tile);
    }
}

#endif
