// Euclid's algorithm with nine steps, which are enough below 64.
READS(0, uint, a) READS(1, uint, c) WRITES(2, uint, b) CONSTANT(0, STEPS, 64) SIZE
void main() {
    if (G >= n) return;
    uint x = a[G], y = c[G];
    for (uint k = 0; k < (FAULT(STEPS == 9) ? STEPS : 64) && y != 0; ++k) { uint rest = x % y; x = y; y = rest; }
    b[G] = x;
}
