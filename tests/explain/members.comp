#version 450
// Of an array of structures one member is read, and the others travel with it; the twin reads all of them, each on its own.
layout(local_size_x = 256) in;
struct Particle { vec3 place; float mass; vec3 speed; float age; };
layout(binding = 0) readonly buffer A { Particle a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float sum = a[i].mass; // FAULT
#ifdef MENDED
    sum += dot(a[i].place, vec3(1.0));
    sum += dot(a[i].speed, vec3(2.0));
    sum += a[i].age;
#endif
    b[i] = sum;
}
