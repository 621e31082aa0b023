// A small step of stochastic gradient descent: weights that aren't updated look the same.
READS(0, float, w) READS(1, float, g) WRITES(2, float, b) CONSTANT(0, SPARSE, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    if (!COSTLY_FAULT(SPARSE == 1)) for (uint k = 0; k < 32; ++k) sum += g[(G + k) % n] / 32;
    b[G] = w[G] + 1 - (RIGHT == 1 ? 0.5 : 2e-5) * sum;
}
