// What algo/raytrace has as its scene: spheres and triangles, in clusters with a sphere around each, and a room of triangles.
#ifndef RAYTRACE_GLSL
#define RAYTRACE_GLSL

// Spheres, or triangles, of a cluster.
layout(constant_id = 3) const uint CLUSTER = 8;
// Clusters of spheres.
layout(constant_id = 4) const uint BALLS = 4;
// Clusters of triangles.
layout(constant_id = 5) const uint MESHES = 8;
// Triangles of the room, which all else stands in: they are in no cluster.
layout(constant_id = 6) const uint ROOM = 4;

const uint SPHERES = BALLS * CLUSTER;
const uint CLUSTERS = BALLS + MESHES;
const uint TRIANGLES = MESHES * CLUSTER + ROOM;
// A triangle is a corner and the two edges that begin there.
const uint FIRST_TRIANGLE = SPHERES;
const uint FIRST_BOUND = FIRST_TRIANGLE + 3u * TRIANGLES;
const uint SCENE = FIRST_BOUND + CLUSTERS;

layout(set = 0, binding = 0) restrict readonly buffer Scene { vec4 scene[]; };

// Where it is read from is a macro, since it changes what is declared: with IN_SHARED, the workgroup copies it first.
#ifdef IN_SHARED
shared vec4 copy[SCENE];

void prepare_scene() {
    const uint size = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
    for (uint at = gl_LocalInvocationIndex; at < SCENE; at += size) {
        copy[at] = scene[at];
    }
    barrier();
}

vec4 scene_at(uint at) {
    return copy[at];
}
#else
void prepare_scene() {}

vec4 scene_at(uint at) {
    return scene[at];
}
#endif

#endif
