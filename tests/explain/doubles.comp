#version 450
// A literal takes the sum to twice the width.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifdef MENDED
    float x = a[i];
    for (uint k = 0u; k < 1024u; k++) x = x * 0.999 + 0.125;
#else
    double x = a[i];
    for (uint k = 0u; k < 1024u; k++) {
        x = x * 0.999lf + 0.125lf; // FAULT
    }
#endif
    b[i] = float(x);
}
