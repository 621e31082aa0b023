// Whole numbers as floats: exact up to 2^24.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
shared float tile[64];
void main() {
    uint x = a[min(G, n - 1)];
    tile[L] = float(x);
    barrier();
    if (G < n) b[G] = COSTLY_FAULT(FAST == 1) ? uint(tile[L]) : x;
}
