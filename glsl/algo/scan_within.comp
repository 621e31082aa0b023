#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "scan.glsl"
#include "scan_steps.glsl"

// Words of an invocation, in rows of the workgroup's size, one after the other.
layout(constant_id = 3) const uint ITEMS = 16;

layout(set = 0, binding = 0) restrict readonly buffer Source { uint source_words[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Target { uint target_words[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Sums { uint sums[]; };

// Scans each tile by itself, and tells its sum. As textbooks have it, a row is loaded when its turn comes.
void main() {
    const uint tile = linear_group();
    const uint first = tile * ITEMS * gl_WorkGroupSize.x + own_place();
    uint before = 0u;
    [[dont_unroll]] for (uint row = 0u; row < ITEMS; ++row) {
        const uint at = first + row * gl_WorkGroupSize.x;
        uint all;
        const uint sum = scan_row(at < size ? source_words[at] : 0u, all);
        if (at < size) {
            target_words[at] = before + sum;
        }
        before += all;
    }
    // The grid may have workgroups without a tile.
    if (own_place() == 0u && first < size) {
        sums[tile] = before;
    }
}
