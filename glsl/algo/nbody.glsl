// What all kernels of algo/nbody have in common: bodies that attract each other, each of them all others.
#ifndef NBODY_GLSL
#define NBODY_GLSL

// Bodies whose attraction an iteration of the loop adds up; all of their loads come first.
layout(constant_id = 4) const uint UNROLL = 8;
// Bodies that an invocation moves. They lie a workgroup apart.
layout(constant_id = 5) const uint ITEMS = 1;
// Bodies whose attraction is added up apart before it goes to the whole sum: fewer additions follow each other, so that less is
// lost to rounding. A multiple of UNROLL.
layout(constant_id = 6) const uint TILE = 128;

// x, y, z, and the mass with either sign: see mass_of().
layout(set = 0, binding = 0) restrict readonly buffer Bodies { vec4 bodies[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Accelerations { vec4 accelerations[]; };

layout(push_constant) uniform Push {
    uint count;
};

// What keeps bodies that are near from attracting each other without limit: the square of a distance, 2^36. A body attracts
// itself by nothing, since it is at no distance from itself.
const float SOFTENING = 68719476736.0;

// A body that attracts nobody.
const vec4 NOTHING = vec4(0.0);

// Test data are numbers of either sign, masses none below zero.
float mass_of(vec4 body) {
    return abs(body.w);
}

// The attraction of one body, added to a sum (Nyland, Harris, Prins: Fast N-Body Simulation with CUDA, GPU Gems 3, chapter 31): 12
// operations, 3 of them fused and counted twice if they are, and one reciprocal root.
void attract(inout vec3 sum, vec3 position, vec3 other, float mass) {
    const vec3 r = other - position;
    const float distance_squared = r.x * r.x + (r.y * r.y + (r.z * r.z + SOFTENING));
    const float inverse = inversesqrt(distance_squared);
    sum += r * (mass * (inverse * inverse * inverse));
}

uint own_body(uint k) {
    return (linear_group() * ITEMS + k) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

// Beyond the last body, the last one again: what comes of it is not stored.
vec3 own_position(uint k) {
    return bodies[min(own_body(k), count - 1u)].xyz;
}

void store(uint k, vec3 acceleration) {
    if (own_body(k) < count) {
        accelerations[own_body(k)] = vec4(acceleration, 0.0);
    }
}

#endif
