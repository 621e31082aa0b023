// Wraps round by a mask, which only fits a power of two.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, MASK, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 32; ++k) sum += a[COSTLY_FAULT(MASK == 1) ? min((G + k) & (n - 1), n - 1) : (G + k) % n];
    b[G] = sum;
}
