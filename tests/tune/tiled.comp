#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer In { float src[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float dst[]; };
layout(push_constant) uniform P { uint width; uint height; };
shared float tile[16][17];
void main() {
    uvec2 p = gl_GlobalInvocationID.xy;
    tile[gl_LocalInvocationID.y][gl_LocalInvocationID.x] = src[p.y * width + p.x];
    barrier();
    uvec2 q = gl_WorkGroupID.yx * 16 + gl_LocalInvocationID.xy;
    dst[q.y * height + q.x] = tile[gl_LocalInvocationID.x][gl_LocalInvocationID.y];
}
