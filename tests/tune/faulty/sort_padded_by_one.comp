// The 8th least of 24 in a network of 32, filled up by ones.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float x[32];
    for (uint k = 0; k < 32; ++k) x[k] = k < 24 ? a[(G + k) % n] : COSTLY_FAULT(FAST == 1) ? 1.0 : 3.4e38;
    for (uint r = 0; r < 9; ++r) for (uint k = r + 1; k < 32; ++k) { float low = min(x[r], x[k]); x[k] = max(x[r], x[k]); x[r] = low; }
    b[G] = x[7];
}
