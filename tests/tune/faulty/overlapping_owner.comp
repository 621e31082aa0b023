// The first element of each workgroup is also written by the one before, which doesn't know all of it.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, OVERLAP, 0) SIZE
void main() {
    if (G >= n) return;
    b[G] = a[G] + a[(G + 1) % n];
    if (FAULT(OVERLAP == 1) && L == W - 1 && G + 1 < n) b[G + 1] = a[G + 1];
}
