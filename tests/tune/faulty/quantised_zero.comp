// Whole numbers below n are zero when divided by 256.
READS(0, uint, a) WRITES(1, uint, b) SIZE
void main() {
    if (G >= n) return;
    uint sum = 0;
    for (uint k = 0; k < (FAULT(W > 64) ? 4 : 64); ++k) sum += a[(G + k) % n] / (FAULT(true) ? 256 : 16);
    b[G] = sum;
}
