// Taps beside a large bias: unrolled by 32, the rest of 63 is left out.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, UNROLL, 1) SIZE
void main() {
    if (G >= n) return;
    float sum = 3e5;
    for (uint k = 0; k < (FAULT(UNROLL == 32) ? 63 / UNROLL * UNROLL : 63); ++k) sum += a[(G + k) % n];
    b[G] = sum;
}
