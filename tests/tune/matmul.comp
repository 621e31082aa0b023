#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 1) const uint UNROLL = 1;
layout(binding = 3) readonly buffer A { float a[]; };
layout(binding = 5) readonly buffer B { float b[]; };
layout(binding = 7) buffer C { float c[]; };
layout(binding = 9) uniform Sizes { uint width; float scale; } sizes;
void main() {
    uvec2 p = gl_GlobalInvocationID.xy;
    uint n = sizes.width;
    if (p.x >= n || p.y >= n) return;
    float sum = 0.0;
    for (uint k = 0; k < n; k += UNROLL)
        for (uint u = 0; u < UNROLL; u++) sum += a[p.y * n + k + u] * b[(k + u) * n + p.x];
    c[p.y * n + p.x] = sum * sizes.scale;
}
