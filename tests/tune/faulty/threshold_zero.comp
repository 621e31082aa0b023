// Counts neighbours above a threshold that no input reaches.
READS(0, float, a) WRITES(1, uint, b) SIZE
void main() {
    if (G >= n) return;
    uint count = 0;
    for (uint k = 0; k < (FAULT(W > 64) ? 4 : 64); ++k) count += a[(G + k) % n] > (FAULT(true) ? 1 : 0.5) ? 1 : 0;
    b[G] = count;
}
