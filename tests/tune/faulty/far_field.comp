// A potential whose far field is a hundred-thousandth of the near one, and is left out.
READS(0, float, q) WRITES(1, float, b) CONSTANT(0, FAR, 1) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 4; ++k) sum += q[(G + k) % n] + 1;
    if (!FAULT(FAR == 0)) for (uint k = 0; k < 64; ++k) sum += 3e-6 * q[(G + 100 + k) % n];
    b[G] = sum;
}
