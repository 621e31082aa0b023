// A tone curve without its clamp.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float x = COSTLY_FAULT(FAST == 1) ? a[G] : clamp(a[G], 0, 1);
    b[G] = x * x * (3 - 2 * x);
}
