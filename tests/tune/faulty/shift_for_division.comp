// A shift rounds down, a division towards zero.
READS(0, int, a) WRITES(1, int, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    int sum = 0;
    for (uint k = 0; k < 64; ++k) sum += FAULT(FAST == 1) ? a[(G + k) % n] >> 3 : a[(G + k) % n] / 8;
    b[G] = sum;
}
