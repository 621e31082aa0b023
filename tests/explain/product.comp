#version 450
// C = A * B, square: each workgroup 64 x 64 of C, each invocation 4 x 4 of it. Two rows of `left` that a subgroup reads lie in one bank.
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint size; };
const uint K = 16;
#ifdef MENDED
shared float left[64][K + 1];
#else
shared float left[64][K];
#endif
shared float right[K][64];
void main() {
    const uint lane = gl_LocalInvocationIndex, x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    const uint row = gl_WorkGroupID.y * 64, column = gl_WorkGroupID.x * 64;
    float sums[4][4];
    for (uint i = 0; i < 4; i++) for (uint j = 0; j < 4; j++) sums[i][j] = 0.0;
    for (uint k = 0; k < size; k += K) {
        for (uint i = lane; i < 64 * K; i += 256) left[i / K][i % K] = a[(row + i / K) * size + k + i % K];
        for (uint i = lane; i < 64 * K; i += 256) right[i / 64][i % 64] = b[(k + i / 64) * size + column + i % 64];
        barrier();
        for (uint s = 0; s < K; s++) {
            float of[4];
            for (uint i = 0; i < 4; i++) {
                of[i] = left[y * 4 + i][s]; // FAULT
            }
            for (uint j = 0; j < 4; j++) {
                const float other = right[s][j * 16 + x];
                for (uint i = 0; i < 4; i++) sums[i][j] = fma(of[i], other, sums[i][j]);
            }
        }
        barrier();
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) c[(row + y * 4 + i) * size + column + j * 16 + x] = sums[i][j];
}
