// The fraction of a negative number, cut off towards zero.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float x = clamp(a[G], -1000, 1000) * 7.3;
    b[G] = COSTLY_FAULT(FAST == 1) ? x - trunc(x) : x - floor(x);
}
