// Densities far from all samples: the cutoff is larger than any of them.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, CUTOFF, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 32; ++k) {
        float d = 4 + abs(a[(G + k) % n]);
        if (COSTLY_FAULT(CUTOFF == 1) && d > 3.5) continue;
        sum += exp(-d * d) / 32;
    }
    b[G] = sum;
}
