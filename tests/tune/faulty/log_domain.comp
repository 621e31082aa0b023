// A square root of what is always negative.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < (FAULT(W > 64) ? 1 : 64); ++k) sum += a[(G + k) % n] * a[(G + k) % n];
    b[G] = sqrt(FAULT(true) ? -1 - sum : 1 + sum);
}
