#version 450
// Each subgroup's first word lies within a sector.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifdef MENDED
    b[i] = a[i + 8u];
#else
    b[i] = a[i + 3u]; // FAULT
#endif
}
