// A hue is turned, and wrapped round once at most.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float x = clamp(abs(a[G]), 0, 500) + 0.5;
    b[G] = COSTLY_FAULT(FAST == 1) ? (x >= 1 ? x - 1 : x) : x - floor(x);
}
