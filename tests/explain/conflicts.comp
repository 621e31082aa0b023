#version 450
// A square is transposed by way of a tile whose columns lie in one bank each.
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint width; };
#ifdef MENDED
shared float tile[32][33];
#else
shared float tile[32][32];
#endif
void main() {
    uvec2 at = gl_WorkGroupID.xy * 32u + gl_LocalInvocationID.xy;
    for (uint j = 0u; j < 32u; j += 8u) {
        tile[gl_LocalInvocationID.y + j][gl_LocalInvocationID.x] = a[(at.y + j) * width + at.x];
    }
    barrier();
    at = gl_WorkGroupID.yx * 32u + gl_LocalInvocationID.xy;
    for (uint j = 0u; j < 32u; j += 8u) {
        b[(at.y + j) * width + at.x] = tile[gl_LocalInvocationID.x][gl_LocalInvocationID.y + j]; // FAULT
    }
}
