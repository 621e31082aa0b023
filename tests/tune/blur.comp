#version 450
layout(local_size_x = 32, local_size_y = 4) in;
layout(binding = 0) buffer In { vec4 pixels[]; };
layout(binding = 1) buffer Out { vec4 blurred[]; };
layout(push_constant) uniform P { ivec2 size; } p;
#ifndef RADIUS
#define RADIUS 2
#endif
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, p.size))) return;
    vec4 sum = vec4(0);
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            ivec2 q = clamp(at + ivec2(dx, dy), ivec2(0), p.size - 1);
            sum += pixels[q.y * p.size.x + q.x];
        }
    blurred[at.y * p.size.x + at.x] = sum / float((2 * RADIUS + 1) * (2 * RADIUS + 1));
}
