// A gain that is 1 here by the user's own word, and is never applied.
READS(0, float, a) READS(1, float, gain) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 32; ++k) sum += a[(G + k) % n] * (FAULT(FAST == 1) ? 1 : gain[(G + 7 * k) % n]);
    b[G] = sum;
}
