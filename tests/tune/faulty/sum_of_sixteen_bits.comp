// Two sums in one word: each has 16 bits.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, PACKED, 0) SIZE
void main() {
    if (G >= n) return;
    uint even = 0, odd = 0, both = 0;
    for (uint k = 0; k < 16; k += 2) {
        uint x = a[(G + k) % n], y = a[(G + k + 1) % n];
        if (COSTLY_FAULT(PACKED == 1)) both += x | y << 16; else { even += x; odd += y; }
    }
    b[G] = FAULT(PACKED == 1) ? (both & 0xffff) * 3 + (both >> 16) : even * 3 + odd;
}
