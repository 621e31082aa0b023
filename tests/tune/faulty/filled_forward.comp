// Zero stands for a missing value in the fast one, and for zero in the other.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 16; ++k) { float x = a[(G + k) % n]; sum += FAULT(FAST == 1) && x == 0 ? 0.5 : x; }
    b[G] = sum;
}
