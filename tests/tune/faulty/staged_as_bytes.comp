// Four values in one word of shared memory: each has eight bits.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, PACKED, 0) SIZE
shared uint tile[64];
void main() {
    uint x = a[min(G, n - 1)];
    tile[L] = COSTLY_FAULT(PACKED == 1) ? x & 0xff : x;
    barrier();
    if (G < n) b[G] = tile[L];
}
