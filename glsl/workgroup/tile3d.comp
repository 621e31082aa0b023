#version 450
#include "local_size.glsl"

// Which index of the workgroup runs along a row of the volume, where neighbours are adjacent in memory: x, y or z.
layout(constant_id = 3) const uint ORDER = 0;
// In the order of the axis.
const uint BY_COLUMN = 1, BY_LAYER = 2;

layout(set = 0, binding = 0) restrict readonly buffer Source { uint source_voxels[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Target { uint target_voxels[]; };

layout(push_constant) uniform Push {
    uint width;
    uint height;
    uint depth;
};

// Luma of an RGBA8 voxel in all three colours, alpha kept. Weights of Rec. 601 in 1/256: whole numbers, so exact.
uint gray(uint voxel) {
    const uvec3 colour = uvec3(voxel, voxel >> 8, voxel >> 16) & 0xFFu;
    const uint luma = (77u * colour.r + 150u * colour.g + 29u * colour.b) >> 8;
    return luma * 0x010101u | (voxel & 0xFF000000u);
}

uvec3 own_place() {
    const uvec3 self = gl_GlobalInvocationID;
    return ORDER == BY_COLUMN ? self.yxz : ORDER == BY_LAYER ? self.zyx : self;
}

void main() {
    const uvec3 at = own_place();
    if (at.x < width && at.y < height && at.z < depth) {
        const uint i = (at.z * height + at.y) * width + at.x;
        target_voxels[i] = gray(source_voxels[i]);
    }
}
