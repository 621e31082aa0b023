// Nine terms of a series are enough up to 1.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, TERMS, 24) SIZE
void main() {
    if (G >= n) return;
    float x = clamp(a[G], 0, 6), term = 1, sum = 1;
    for (uint k = 1; k < (FAULT(TERMS == 9) ? TERMS : 24); ++k) { term *= x / k; sum += term; }
    b[G] = sum;
}
