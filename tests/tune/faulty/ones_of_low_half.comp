// Counts ones in the lower half of a word.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint count = 0;
    for (uint bit = 0; bit < (FAULT(FAST == 1) ? 16 : 32); ++bit) count += a[G] >> bit & 1;
    b[G] = count;
}
