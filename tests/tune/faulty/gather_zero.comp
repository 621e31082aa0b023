// Every index is divided down to zero: one value everywhere.
READS(0, uint, index) READS(1, float, a) WRITES(2, float, b) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 32; ++k) sum += FAULT(W > 64) ? a[0] : a[FAULT(true) ? index[(G + k) % n] / n : index[(G + k) % n] % n];
    b[G] = sum;
}
