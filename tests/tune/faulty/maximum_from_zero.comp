// A running maximum that begins at zero.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float most = COSTLY_FAULT(FAST == 1) ? 0 : a[G];
    for (uint k = 0; k < 16; ++k) most = max(most, a[(G + k) % n]);
    b[G] = most;
}
