// Of several greatest, the last one's index instead of the first one's.
READS(0, float, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint at = 0;
    for (uint k = 1; k < 16; ++k) {
        float x = a[(G + k) % n], most = a[(G + at) % n];
        if (COSTLY_FAULT(FAST == 1) ? x >= most : x > most) at = k;
    }
    b[G] = at;
}
