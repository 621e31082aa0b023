#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// Particles of the two kinds stand in runs of so many, which take turns: first those that fall, then those that turn. With 0, all fall.
layout(constant_id = 5) const uint RUN = 0;

// Time between two steps. With small whole numbers to begin with, every sum is exact.
const float STEP = 0.5;

// Positions and velocities: x, y, z, and a number that no step changes.
layout(set = 0, binding = 0) restrict writeonly buffer NewPositions { vec4 new_positions[]; };
layout(set = 0, binding = 1) restrict writeonly buffer NewVelocities { vec4 new_velocities[]; };
layout(set = 0, binding = 2) restrict readonly buffer Positions { vec4 positions[]; };
layout(set = 0, binding = 3) restrict readonly buffer Velocities { vec4 velocities[]; };

// An order of the particles, which changes what is bound: GATHER reads them in it, SCATTER writes them in it.
#if defined(GATHER) || defined(SCATTER)
layout(set = 0, binding = 4) restrict readonly buffer Indexes { uint indexes[]; };
#endif

layout(push_constant) uniform Push {
    uint count;
    uint steps;
};

bool falls(uint particle) {
    return RUN == 0u || particle / RUN % 2u == 0u;
}

// Both ways have a loop of their own: no compiler makes a choice between two results of them.
void move(uint particle, inout vec3 position, inout vec3 velocity) {
    if (falls(particle)) {
        for (uint step = 0u; step < steps; ++step) {
            velocity.y -= STEP;
            position += velocity * STEP;
        }
    } else {
        // A quarter of a turn in each step, as in a magnetic field.
        for (uint step = 0u; step < steps; ++step) {
            velocity = vec3(velocity.y, -velocity.x, velocity.z);
            position += velocity * STEP;
        }
    }
}

// A whole tile checks nothing. All loads come before the first step, and all steps before the first store.
void take(const bool is_whole) {
    uint from[UNROLL];
    uint to[UNROLL];
    vec4 position[UNROLL];
    vec4 velocity[UNROLL];
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        // Beyond the last particle, the last one again: it is there to be read.
        const uint at = is_whole ? own_element(k) : min(own_element(k), count - 1u);
        from[k] = at;
        to[k] = at;
#ifdef GATHER
        from[k] = indexes[at];
#endif
#ifdef SCATTER
        to[k] = indexes[at];
#endif
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        position[k] = positions[from[k]];
        velocity[k] = velocities[from[k]];
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        move(from[k], position[k].xyz, velocity[k].xyz);
    }
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        if (is_whole || own_element(k) < count) {
            new_positions[to[k]] = position[k];
            new_velocities[to[k]] = velocity[k];
        }
    }
}

void main() {
    if (next_first_element() <= count) {
        take(true);
    } else {
        take(false);
    }
}
