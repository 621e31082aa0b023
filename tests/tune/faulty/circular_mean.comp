// The mean of angles, as if none went beyond half a turn.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 8; ++k) { float x = clamp(a[(G + k) % n], -100, 100); sum += FAULT(FAST == 1) ? x : x - 6.25 * round(x / 6.25); }
    b[G] = sum / 8;
}
