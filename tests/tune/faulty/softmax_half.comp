// A softmax over 1024 classes in halves: unrolled by two, the second of each pair is left out of the sum.
READS(0, float16_t, a) WRITES(1, float16_t, b) CONSTANT(0, UNROLL, 1)
shared float part[64];
void main() {
    uint row = gl_WorkGroupID.x * 1024;
    float sum = 0, total = 0;
    for (uint k = L; k < 1024; k += W * (FAULT(UNROLL == 2) ? 2 : 1)) sum += exp(float(a[row + k]));
    part[L] = sum;
    barrier();
    for (uint k = 0; k < W; ++k) total += part[k];
    for (uint k = L; k < 1024; k += W) b[row + k] = float16_t(exp(float(a[row + k])) / total);
}
