#version 450
// One member of a structure of eight is read: its neighbours travel with it.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifdef MENDED
    b[i] = a[i];
#else
    b[i] = a[8u * i]; // FAULT
#endif
}
