// The bucket of zero by its highest bit, which it doesn't have.
READS(0, float, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint x = uint(min(abs(a[G]), 100) * 1e7);
    b[G] = COSTLY_FAULT(FAST == 1) || x > 0 ? uint(findMSB(x)) + 1 : 1;
}
