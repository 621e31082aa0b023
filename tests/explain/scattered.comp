#version 450
// Words are read here and there.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float sum = 0.0;
#ifdef MENDED
    sum += a[i];
#else
    sum += a[(i * 2654435761u >> 3) % n]; // FAULT
#endif
    b[i] = sum;
}
