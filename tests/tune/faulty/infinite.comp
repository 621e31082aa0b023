// A sum of exponentials that are all infinite.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < (FAULT(W > 64) ? 1 : 32); ++k) sum += exp(abs(a[(G + k) % n]) * (FAULT(true) ? 1 : 0.01) + (FAULT(true) ? 200 : 0));
    b[G] = sum;
}
