#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"

// Rows and columns of the tile, a power of two.
layout(constant_id = 3) const uint TILE = 32;
// Elements between the end of a row and the beginning of the next one.
layout(constant_id = 4) const uint PADDING = 0;
// Whether column c of row r lies at c xor r.
layout(constant_id = 5) const bool SWIZZLED = false;
layout(constant_id = 6) const uint ITERATIONS = 1;

// Columns that are read one after the other, from one of as many first columns on.
const uint COLUMNS = TILE / 2;
// Places in the source where tiles begin.
const uint BEGINNINGS = 4;

// Both are constant, but no compiler can know: a known alignment would let neighbouring loads become one wider load, and loads
// from a place that doesn't move would leave the loop.
layout(push_constant) uniform Push {
    uint first_column;
    uint column_step;
};

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };

shared uint tile[TILE * (TILE + PADDING)];

uint place(uint row, uint column) {
    return row * (TILE + PADDING) + (SWIZZLED ? column ^ row : column);
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    // Neighbouring workgroups have different words: what another has left in the tile is no right result.
    const uint begin = linear_group() % BEGINNINGS;
    for (uint i = self; i < TILE * TILE; i += gl_WorkGroupSize.x) {
        tile[place(i / TILE, i % TILE)] = source[begin + i];
    }
    barrier();
    // Neighbouring lanes have neighbouring rows, and read the same column: down a column of the tile.
    const uint row = self % TILE;
    uint first = first_column;
    uint result = 0u;
    for (uint k = 0u; k < ITERATIONS; ++k) {
        uint sum = 0u;
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
            sum += tile[place(row, first + j)];
        }
        // The order of the iterations counts, too.
        result = 3u * result + sum;
        first = (first + column_step) & (COLUMNS - 1u);
    }
    results[linear_group() * gl_WorkGroupSize.x + self] = result;
}
