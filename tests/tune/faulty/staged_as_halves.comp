// Counts as halves: exact up to 2048.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, PACKED, 0) SIZE
shared uint tile[64];
void main() {
    uint x = a[min(G, n - 1)];
    tile[L] = packHalf2x16(vec2(float(x), 0));
    barrier();
    if (G < n) b[G] = COSTLY_FAULT(PACKED == 1) ? uint(unpackHalf2x16(tile[L]).x) : x;
}
