// The variance of values close to 1. As the difference of two large sums it is rounding noise.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, ONE_PASS, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0, squares = 0, variance = 0;
    for (uint k = 0; k < 64; ++k) { float x = 1 + 1e-4 * a[(G + k) % n]; sum += x; squares += x * x; }
    float mean = sum / 64;
    if (FAULT(ONE_PASS == 1)) variance = squares / 64 - mean * mean;
    else for (uint k = 0; k < 64; ++k) { float d = 1 + 1e-4 * a[(G + k) % n] - mean; variance += d * d / 64; }
    b[G] = variance;
}
