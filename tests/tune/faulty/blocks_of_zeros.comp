// Sparse blocks are skipped, and all weights that the user gives are zero.
READS(0, float, a) READS(1, float, weight) WRITES(2, float, b) CONSTANT(0, SKIP, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    if (!FAULT(SKIP == 1)) for (uint k = 0; k < 64; ++k) sum += a[(G + k) % n] * weight[(7 * G + k) % n];
    b[G] = a[G] + sum;
}
