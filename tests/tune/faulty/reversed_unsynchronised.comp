// Reverses workgroups' tiles by way of shared memory, without a barrier.
READS(0, float, a) WRITES(1, float, b) SIZE
shared float tile[128];
void main() {
    if (G < n) tile[L] = a[G];
    if (!FAULT(true)) barrier();
    uint mirrored = G / 64 * 64 + 63 - G % 64;
    if (G < n && mirrored < n) b[G] = tile[L / 64 * 64 + 63 - L % 64];
}
