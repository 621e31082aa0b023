#version 450
// C = A * B, square matrices of `size`: each workgroup a tile of C, each invocation TM x TN of it.
layout(local_size_x = 16, local_size_y = 16) in;
layout(constant_id = 10) const uint TM = 4;
layout(constant_id = 11) const uint TN = 4;
layout(constant_id = 12) const uint BK = 16;
layout(constant_id = 13) const uint PAD = 1;
layout(constant_id = 14) const uint SPREAD = 1;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint size; };
const uint X = gl_WorkGroupSize.x;
const uint Y = gl_WorkGroupSize.y;
const uint BM = Y * TM;
const uint BN = X * TN;
const uint LA = BK + PAD;
const uint LB = BN + PAD;
shared float as[BM * LA];
shared float bs[BK * LB];
void main() {
    const uint lane = gl_LocalInvocationID.y * X + gl_LocalInvocationID.x;
    const uint row = gl_WorkGroupID.y * BM, column = gl_WorkGroupID.x * BN;
    float sums[TM * TN];
    for (uint i = 0; i < TM * TN; i++) sums[i] = 0.0;
    for (uint k = 0; k < size; k += BK) {
        for (uint i = lane; i < BM * BK; i += X * Y) as[(i / BK) * LA + i % BK] = a[(row + i / BK) * size + k + i % BK];
        for (uint i = lane; i < BK * BN; i += X * Y) bs[(i / BN) * LB + i % BN] = b[(k + i / BN) * size + column + i % BN];
        barrier();
        for (uint s = 0; s < BK; s++) {
            float left[TM];
            for (uint i = 0; i < TM; i++)
                left[i] = as[(SPREAD == 1 ? i * Y + gl_LocalInvocationID.y : gl_LocalInvocationID.y * TM + i) * LA + s];
            for (uint j = 0; j < TN; j++) {
                const float right = bs[s * LB + (SPREAD == 1 ? j * X + gl_LocalInvocationID.x : gl_LocalInvocationID.x * TN + j)];
                for (uint i = 0; i < TM; i++) sums[i * TN + j] = fma(left[i], right, sums[i * TN + j]);
            }
        }
        barrier();
    }
    for (uint i = 0; i < TM; i++)
        for (uint j = 0; j < TN; j++) {
            const uint y = row + (SPREAD == 1 ? i * Y + gl_LocalInvocationID.y : gl_LocalInvocationID.y * TM + i);
            const uint x = column + (SPREAD == 1 ? j * X + gl_LocalInvocationID.x : gl_LocalInvocationID.x * TN + j);
            c[y * size + x] = sums[i * TN + j];
        }
}
