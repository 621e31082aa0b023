// A vector of length zero is divided by it.
READS(0, float, x) READS(1, float, y) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float u = clamp(x[G], -1e6, 1e6), v = clamp(y[G], -1e6, 1e6), length = sqrt(u * u + v * v);
    b[G] = COSTLY_FAULT(FAST == 1) || length > 0 ? u / length : 0;
}
