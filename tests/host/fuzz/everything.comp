#version 460
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "local_size.glsl"
layout(constant_id = 3) const uint N = 6;
layout(constant_id = 4) const bool WIDE = true;
const uvec2 SIZE = gl_WorkGroupSize.yx * 2u;
struct Inner { vec3 a; mat2 b[3]; };
layout(binding = 0) readonly buffer Data { Inner inner[]; } data[2];
layout(binding = 1, rgba32f) uniform image2D image;
layout(binding = 2) uniform sampler2D textures[N];
layout(push_constant) uniform Push { Inner inner; uint n; } push;
shared uint tile[SIZE.x * N / 3 + (WIDE ? 1 : 2)];
shared Inner more[N];
uint inner(uint n) { while (n > 3) { for (uint i = 0; i < n; ++i) { n /= 2; } } return subgroupClusteredAdd(n, 4); }
uint outer(uint n) { return inner(n) * inner(n + 1) + subgroupAdd(n); }
void main() {
    while (tile[1] < outer(tile[2])) { tile[3] += WIDE ? inner(tile[4]) : gl_SubgroupSize; }
    switch (N) { case 6: more[2].a *= sin(more[3].a); break; default: atomicAdd(tile[5], 1); }
    tile[0] = uint(data[1].inner[push.n].a.x + textureLod(textures[1], vec2(0), 0).x);
    more[1] = push.inner;
    switch (tile[0]) { case 1: barrier(); break; default: imageStore(image, ivec2(0), vec4(tile[1])); }
}
