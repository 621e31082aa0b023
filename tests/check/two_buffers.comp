// expects: race
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// With two halves in turn, one barrier a trip is enough; with one it isn't.
shared uint s[2][64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    uint sum = 0;
    for (uint i = 0; i < 4; ++i) {
        uint half_of = FAULT == 1 ? 0 : i & 1;
        s[half_of][l] = a[g] + i;
        barrier();
        sum += s[half_of][63 - l];
    }
    b[g] = sum;
}
