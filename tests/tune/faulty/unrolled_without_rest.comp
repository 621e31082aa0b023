// Ten taps, unrolled by four.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, UNROLL, 1) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < (FAULT(UNROLL == 4) ? 10 / UNROLL * UNROLL : 10); ++k) sum += a[(G + k) % n];
    b[G] = sum;
}
