// expects: bounds — index 8 of an array of 8: mostly still inside the tile (the next row), in the last row beyond all shared memory
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint tile[8][8];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uvec2 p = gl_LocalInvocationID.xy;
    tile[p.y][p.x] = x;
    barrier();
#if FAULT
    b[gid] = tile[p.y][p.x + 1u];
#else
    b[gid] = tile[p.y][min(p.x + 1u, 7u)];
#endif
}
