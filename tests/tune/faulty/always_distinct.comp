// Marks where a run begins, as if every element began one.
READS(0, float, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint runs = 0;
    for (uint k = 0; k < 16; ++k) runs += FAULT(FAST == 1) || a[(G + k) % n] != a[(G + k + 1) % n] ? k + 1 : 0;
    b[G] = runs + (a[G] > 0.5 ? 1 : 0);
}
