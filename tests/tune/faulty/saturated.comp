// A filter whose result is clamped to 1 everywhere.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < (FAULT(W > 64) ? 4 : 64); ++k) sum += a[(G + k) % n];
    b[G] = FAULT(true) ? clamp(255 * (1 + sum), 0, 1) : sum / 64;
}
