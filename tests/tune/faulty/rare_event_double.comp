// Products of small probabilities in doubles, given up as zero when they are small.
READS(0, double, p) WRITES(1, double, b) CONSTANT(0, STOP, 0) SIZE
void main() {
    if (G >= n) return;
    double all = 0.001;
    for (uint k = 0; k < 8; ++k) {
        if (FAULT(STOP == 1) && abs(all) < 1e-10) { all = 0; break; }
        all *= 0.02 * p[(G + k) % n];
    }
    b[G] = all;
}
