// A running minimum that begins at 1, as if no input were greater.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float least = FAULT(FAST == 1) ? 1 : a[G];
    for (uint k = 0; k < 16; ++k) least = min(least, a[(G + k) % n]);
    b[G] = least;
}
