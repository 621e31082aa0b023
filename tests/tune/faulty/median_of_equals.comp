// The median is what has four smaller ones: among equals there may be none.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float median = 0;
    for (uint i = 0; i < 9; ++i) {
        uint rank = 0;
        float x = a[(G + i) % n];
        for (uint k = 0; k < 9; ++k) { float y = a[(G + k) % n]; rank += y < x || !FAULT(FAST == 1) && y == x && k < i ? 1 : 0; }
        if (rank == 4) median = x;
    }
    b[G] = median;
}
