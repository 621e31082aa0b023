// Adds what it fetches ahead, which beyond the end is zero, if it is.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, PREFETCH, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 8; ++k) if (FAULT(PREFETCH == 1) || G + k < n) sum += a[G + k];
    b[G] = sum;
}
