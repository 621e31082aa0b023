// The zero in front of a scan is written by the last of 64 invocations, which a workgroup of 32 doesn't have.
READS(0, uint, a) UPDATES(1, uint, b) SIZE
shared uint tile[65];
void main() {
    tile[L + 1] = G < n ? a[G] : 0;
    if (L == (FAULT(true) ? 63 : 0)) tile[0] = 0;
    barrier();
    uint before = tile[L];
    if (G % 32 == 0 && W == 64) before = 0;
    barrier();
    tile[L + 1] = 12345;
    tile[0] = FAULT(true) ? 12345 : 0;
    if (G < n) b[G] = before;
}
