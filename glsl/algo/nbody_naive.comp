#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "nbody.glsl"

// Every invocation reads all bodies from memory. Those of a subgroup read the same one at a time.
void main() {
    const vec3 position = own_position(0u);
    vec3 sum = vec3(0.0);
    const uint whole = count - count % UNROLL;
    for (uint tile = 0u; tile < whole; tile += TILE) {
        vec3 part = vec3(0.0);
        const uint end = min(tile + TILE, whole);
        for (uint first = tile; first < end; first += UNROLL) {
            vec4 held[UNROLL];
            [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
                held[k] = bodies[first + k];
            }
            [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
                attract(part, position, held[k].xyz, mass_of(held[k]));
            }
        }
        sum += part;
    }
    for (uint last = whole; last < count; ++last) {
        const vec4 body = bodies[last];
        attract(sum, position, body.xyz, mass_of(body));
    }
    store(0u, sum);
}
