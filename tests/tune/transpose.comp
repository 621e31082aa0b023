#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) buffer In { float src[]; };
layout(set = 0, binding = 1) buffer Out { float dst[]; };
layout(push_constant) uniform P { uint width; uint height; };
void main() {
    uvec2 p = gl_GlobalInvocationID.xy;
    if (p.x < width && p.y < height) dst[p.x * height + p.y] = src[p.y * width + p.x];
}
