// How the fast kernels of algo/scan and algo/compact deal an array to workgroups, subgroups and invocations. Include
// scan_subgroups.glsl before it, and what declares `size`, the words of the array.
//
// A workgroup takes a tile of neighbouring words. Each of its subgroups takes a neighbouring part of that, in rows: of each row,
// which is as long as the subgroup, a lane takes one vector of four words. So lanes read and write neighbouring vectors, and the
// words of a subgroup are in order by rows, then by lanes.
#ifndef SCAN_TILE_GLSL
#define SCAN_TILE_GLSL

// Words of an invocation: whole vectors.
layout(constant_id = 3) const uint ITEMS = 16;
const uint TILE = ITEMS * gl_WorkGroupSize.x;
const uint ROWS = ITEMS / 4;

// As long as whole vectors: words that follow the last one don't count.
layout(set = 0, binding = 0) restrict readonly buffer Source { uvec4 source_vectors[]; };

uint tile_count() {
    return size / TILE + uint(size % TILE != 0u);
}

bool is_whole(uint tile) {
    return tile < size / TILE;
}

// The index of the invocation's vector of a row.
uint own_vector(uint tile, uint row) {
    return tile * (TILE / 4u) + gl_SubgroupID * gl_SubgroupSize * ROWS + row * lanes() + gl_SubgroupInvocationID;
}

// A vector of a tile that may end within it or before: what isn't there is `absent`.
uvec4 ragged_vector(uint vector, uint absent) {
    const uvec4 at = 4u * vector + uvec4(0u, 1u, 2u, 3u);
    return at.x < size ? mix(uvec4(absent), source_vectors[vector], lessThan(at, uvec4(size))) : uvec4(absent);
}

#endif
