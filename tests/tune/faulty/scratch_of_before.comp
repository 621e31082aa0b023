// Reads what other workgroups leave behind, in this pass or the one before.
READS(0, float, a) UPDATES(1, float, scratch) WRITES(2, float, b) CONSTANT(0, STALE, 0) SIZE
void main() {
    if (G >= n) return;
    scratch[G] = a[G] * 3;
    uint i = (G + n / 2) % n;
    b[G] = FAULT(STALE == 1) ? scratch[i] : a[i] * 3;
}
