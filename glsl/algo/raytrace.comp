#version 450
#ifdef VOTE
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#endif
#include "local_size.glsl"
#include "scramble.glsl"
#include "raytrace.glsl"

// Whether a cluster is skipped whose sphere a ray misses. With the macro VOTE, it is where all rays of a subgroup do.
layout(constant_id = 7) const bool BOUNDED = false;

layout(set = 0, binding = 1) restrict writeonly buffer Picture { uint picture[]; };
layout(set = 0, binding = 2) restrict writeonly buffer Hits { uint hits[]; };

// Which pixel comes when: row by row, or in the order of a list.
#ifdef SHUFFLED
layout(set = 0, binding = 3) restrict readonly buffer Indexes { uint indexes[]; };
#endif

layout(push_constant) uniform Push {
    uint size;
};

const vec3 CAMERA = vec3(0.0, 80.0, -300.0);
const vec3 LIGHT = vec3(200.0, 400.0, -250.0);

// What a ray hits that hits nothing, and how far it goes for that.
const uint NOTHING = 0x7FFFFFFFu;
const float FAR = 1e9;
const uint IN_SHADOW = 0x80000000u;

// How far above a surface a ray to the light begins.
const float ABOVE = 0.25;
const float AMBIENT = 0.25;

struct Ray {
    vec3 origin;
    vec3 direction;
};

struct Hit {
    float at;
    uint object;
};

// How far along the ray, in lengths of its direction, comes nearest to a point; and how near it comes, squared. The difference is
// taken before the square: little is lost (Haines and others: Precision Improvements for Ray/Sphere Intersection, Ray Tracing Gems,
// chapter 7).
float nearest_approach(Ray ray, vec3 center, out float distance_squared) {
    const vec3 to_center = center - ray.origin;
    const float at = dot(to_center, ray.direction) / dot(ray.direction, ray.direction);
    const vec3 left = to_center - at * ray.direction;
    distance_squared = dot(left, left);
    return at;
}

// Where a ray enters a sphere; below zero where it doesn't.
float enters_sphere(Ray ray, vec4 sphere) {
    float distance_squared;
    const float at = nearest_approach(ray, sphere.xyz, distance_squared);
    const float inside = sphere.w * sphere.w - distance_squared;
    return inside < 0.0 ? -1.0 : at - sqrt(inside / dot(ray.direction, ray.direction));
}

// Where a ray meets a triangle, from either side; below zero where it doesn't (Moeller and Trumbore: Fast, Minimum Storage Ray/Triangle
// Intersection, 1997).
float meets_triangle(Ray ray, uint triangle) {
    const vec3 corner = scene_at(FIRST_TRIANGLE + 3u * triangle).xyz;
    const vec3 edge_1 = scene_at(FIRST_TRIANGLE + 3u * triangle + 1u).xyz;
    const vec3 edge_2 = scene_at(FIRST_TRIANGLE + 3u * triangle + 2u).xyz;
    const vec3 p = cross(ray.direction, edge_2);
    const vec3 s = ray.origin - corner;
    const vec3 q = cross(s, edge_1);
    const float scale = 1.0 / dot(edge_1, p);
    const float u = dot(s, p) * scale;
    const float v = dot(ray.direction, q) * scale;
    const float at = dot(edge_2, q) * scale;
    // Of a ray along the triangle's plane nothing is a number, and no comparison holds.
    return u >= 0.0 && v >= 0.0 && u + v <= 1.0 ? at : -1.0;
}

bool may_hit(Ray ray, uint cluster) {
    if (!BOUNDED) {
        return true;
    }
    const vec4 bound = scene_at(FIRST_BOUND + cluster);
    float distance_squared;
    nearest_approach(ray, bound.xyz, distance_squared);
    const bool hits_bound = distance_squared <= bound.w * bound.w;
#ifdef VOTE
    return subgroupAny(hits_bound);
#else
    return hits_bound;
#endif
}

void take_nearer(inout Hit hit, float at, uint object) {
    if (at > 0.0 && at < hit.at) {
        hit = Hit(at, object);
    }
}

// What a ray hits first, not beyond this; or, where any hit will do, whatever it finds first.
Hit trace(Ray ray, float far, bool any) {
    Hit hit = Hit(far, NOTHING);
    for (uint cluster = 0u; cluster < CLUSTERS; ++cluster) {
        if (any && hit.object != NOTHING) {
            return hit;
        }
        if (!may_hit(ray, cluster)) {
            continue;
        }
        if (cluster < BALLS) {
            for (uint k = 0u; k < CLUSTER; ++k) {
                const uint sphere = cluster * CLUSTER + k;
                take_nearer(hit, enters_sphere(ray, scene_at(sphere)), sphere);
            }
        } else {
            for (uint k = 0u; k < CLUSTER; ++k) {
                const uint triangle = (cluster - BALLS) * CLUSTER + k;
                take_nearer(hit, meets_triangle(ray, triangle), SPHERES + triangle);
            }
        }
    }
    for (uint triangle = TRIANGLES - ROOM; triangle < TRIANGLES; ++triangle) {
        take_nearer(hit, meets_triangle(ray, triangle), SPHERES + triangle);
    }
    return hit;
}

// Of length one, towards where the ray comes from.
vec3 normal_at(Ray ray, vec3 place, uint object) {
    vec3 normal;
    if (object < SPHERES) {
        const vec4 sphere = scene_at(object);
        normal = (place - sphere.xyz) / sphere.w;
    } else {
        const uint first = FIRST_TRIANGLE + 3u * (object - SPHERES);
        normal = cross(scene_at(first + 1u).xyz, scene_at(first + 2u).xyz);
        normal *= inversesqrt(dot(normal, normal));
    }
    return dot(normal, ray.direction) > 0.0 ? -normal : normal;
}

// No part of it is dark.
vec3 paint_of(uint object) {
    const uint paint = scramble(object + 1u);
    return (vec3((uvec3(paint) >> uvec3(0u, 8u, 16u)) & 127u) + 128.0) / 255.0;
}

void main() {
    prepare_scene();
    // Beyond the picture, the last pixel again: all lanes of a subgroup vote.
    const uvec2 at = min(gl_GlobalInvocationID.xy, uvec2(size - 1u));
#ifdef SHUFFLED
    const uint pixel = indexes[at.y * size + at.x];
#else
    const uint pixel = at.y * size + at.x;
#endif
    // Whole numbers: nothing rounds yet.
    const int across = 2 * int(pixel % size) + 1 - int(size);
    const int up = int(size) - 1 - 2 * int(pixel / size);
    const Ray ray = Ray(CAMERA, vec3(across, up, 2 * int(size)));
    const Hit hit = trace(ray, FAR, false);
    uint word = NOTHING;
    vec3 colour = vec3(0.0);
    if (hit.object != NOTHING) {
        const vec3 place = ray.origin + hit.at * ray.direction;
        const vec3 normal = normal_at(ray, place, hit.object);
        const vec3 start = place + ABOVE * normal;
        const Ray to_light = Ray(start, LIGHT - start);
        const bool is_dark = trace(to_light, 1.0, true).object != NOTHING;
        const float cosine = dot(normal, to_light.direction) * inversesqrt(dot(to_light.direction, to_light.direction));
        const float bright = AMBIENT + (is_dark ? 0.0 : (1.0 - AMBIENT) * max(cosine, 0.0));
        colour = paint_of(hit.object) * bright;
        word = hit.object | (is_dark ? IN_SHADOW : 0u);
    }
    if (gl_GlobalInvocationID.x < size && gl_GlobalInvocationID.y < size) {
        picture[pixel] = packUnorm4x8(vec4(colour, 1.0));
        hits[pixel] = word;
    }
}
