#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "blur.glsl"

layout(set = 0, binding = 2, rgba8) uniform restrict writeonly image2D target;

// An invocation fetches all pixels around its own.
void main() {
    const ivec2 place = ivec2(gl_GlobalInvocationID.xy);
    if (!all(lessThan(place, ivec2(size)))) {
        return;
    }
    vec4 sum = vec4(0.0);
    for (int down = 0; down < TAPS; ++down) {
        vec4 row = vec4(0.0);
        [[unroll]] for (int across = 0; across < TAPS; ++across) {
            row += weight(across) * pixel_at(place + ivec2(across, down) - RADIUS);
        }
        sum += weight(down) * row;
    }
    imageStore(target, place, sum);
}
