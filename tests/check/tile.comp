// expects: race
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint tile[8][9];
void main() {
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, g = gl_WorkGroupID.x * 64 + gl_LocalInvocationIndex;
    tile[y][x] = a[g];
#if !FAULT
    barrier();
#endif
    b[g] = tile[x][y];
}
