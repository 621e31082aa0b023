// Elements that are equal cancel each other out in an exclusive or, and not in a count.
READS(0, float, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint changes = 0, folded = floatBitsToUint(a[G]);
    for (uint k = 1; k < 8; ++k) { uint x = floatBitsToUint(a[(G + k) % n]); folded ^= x; changes += COSTLY_FAULT(FAST == 1) && folded == 0 ? 0 : k; }
    b[G] = changes * 2 + (a[G] > 0.25 ? 1 : 0);
}
