// What all kernels of algo/transpose have in common: target[x][y] = source[y][x], both square and row-major, one tile per
// workgroup. Places are uvec2(across, down).
#ifndef TRANSPOSE_GLSL
#define TRANSPOSE_GLSL

// Edge of a workgroup's tile.
layout(constant_id = 3) const uint TILE = 32;

layout(set = 0, binding = 0) restrict readonly buffer Source { uint source_words[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Target { uint target_words[]; };

layout(push_constant) uniform Push {
    uint size;
};

uint index_of(uvec2 at) {
    return at.y * size + at.x;
}

// Where the workgroup's tile begins in the source; in the target, across and down change places.
uvec2 tile_origin() {
    return gl_WorkGroupID.xy * TILE;
}

// How much of the tile lies within the source.
uvec2 tile_extent() {
    return min(uvec2(TILE), size - tile_origin());
}

bool is_within(uvec2 at, uvec2 extent) {
    return at.x < extent.x && at.y < extent.y;
}

#endif
