#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "blur.glsl"
#include "blur_lines.glsl"

layout(set = 0, binding = 3) uniform sampler linear;

// A sample between two pixels weighs both: one for each two taps. An invocation makes one pixel of a line.
void main() {
    const int line = int(gl_GlobalInvocationID.x);
    const int own = int(gl_GlobalInvocationID.y);
    if (line >= size || own >= size) {
        return;
    }
    const vec2 middle = vec2(place_of(line, own - RADIUS)) + 0.5;
    vec4 sum = vec4(0.0);
    [[unroll]] for (int tap = 0; tap < TAPS; tap += 2) {
        const float along = float(tap) + taps[tap].z;
#ifdef ROWS
        const vec2 place = middle + vec2(along, 0.0);
#else
        const vec2 place = middle + vec2(0.0, along);
#endif
        sum += taps[tap].y * textureLod(sampler2D(source, linear), place / float(size), 0.0);
    }
    store(line, own, sum);
}
