// Splits signed keys at a pivot as if they were not signed.
READS(0, int, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint below = 0;
    for (uint k = 0; k < 32; ++k) { int x = a[(G + k) % n]; below += (COSTLY_FAULT(FAST == 1) ? uint(x) < 500 : x < 500) ? k + 1 : 0; }
    b[G] = below;
}
