// expects: race — groupMemoryBarrier() is a fence and makes nobody wait, yet the tile is read transposed
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint tile[8][9];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    uvec2 p = gl_LocalInvocationID.xy;
    tile[p.y][p.x] = x;
#if FAULT
    groupMemoryBarrier();
#else
    barrier();
#endif
    b[gid] = tile[p.x][p.y];
}
