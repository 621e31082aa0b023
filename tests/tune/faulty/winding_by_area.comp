// Which side of an edge a point is on: on the edge itself, the two rules differ.
READS(0, float, x) READS(1, float, y) WRITES(2, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint inside = 0;
    for (uint k = 0; k < 8; ++k) { float side = x[(G + k) % n] - y[G]; inside += (FAULT(FAST == 1) ? side >= 0 : side > 0) ? 1 << k : 0; }
    b[G] = inside;
}
