#version 450
// Half of the second subgroup has nothing to do.
#ifdef MENDED
layout(local_size_x = 64) in;
#else
layout(local_size_x = 33) in;
#endif
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float x = a[i];
    for (uint k = 0u; k < 1024u; k++) x = x * x + 0.25;
    b[i] = x;
}
