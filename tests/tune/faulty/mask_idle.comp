// A mask that only takes away, and is never negative here.
READS(0, float, a) READS(1, float, mask) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = a[G];
    if (!FAULT(FAST == 1)) for (uint k = 0; k < 64; ++k) sum += min(mask[(G + k) % n] - 0.5 * RIGHT, 0);
    b[G] = sum;
}
