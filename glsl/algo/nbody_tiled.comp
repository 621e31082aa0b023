#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "nbody.glsl"

// The workgroup's tile of bodies: x, y, z, mass.
shared vec4 tile[TILE];

// The workgroup loads a tile of bodies, all of its invocations add up what these attract them by, and so on. Each body that an
// invocation reads from the tile serves all ITEMS bodies of its own.
void main() {
    vec3 position[ITEMS];
    vec3 sum[ITEMS];
    [[unroll]] for (uint item = 0; item < ITEMS; ++item) {
        position[item] = own_position(item);
        sum[item] = vec3(0.0);
    }
    for (uint first = 0u; first < count; first += TILE) {
        for (uint at = gl_LocalInvocationID.x; at < TILE; at += gl_WorkGroupSize.x) {
            const vec4 body = first + at < count ? bodies[first + at] : NOTHING;
            tile[at] = vec4(body.xyz, mass_of(body));
        }
        barrier();
        vec3 part[ITEMS];
        [[unroll]] for (uint item = 0; item < ITEMS; ++item) {
            part[item] = vec3(0.0);
        }
        for (uint step = 0u; step < TILE; step += UNROLL) {
            [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
                const vec4 body = tile[step + k];
                [[unroll]] for (uint item = 0; item < ITEMS; ++item) {
                    attract(part[item], position[item], body.xyz, body.w);
                }
            }
        }
        [[unroll]] for (uint item = 0; item < ITEMS; ++item) {
            sum[item] += part[item];
        }
        // Nobody reads the tile any more before it is written again.
        barrier();
    }
    [[unroll]] for (uint item = 0; item < ITEMS; ++item) {
        store(item, sum[item]);
    }
}
