// An angle out of a quotient: right in one quadrant of four.
READS(0, float, x) READS(1, float, y) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float u = x[G] == 0 ? 1 : x[G];
    float angle = atan(y[G] / u);
    if (!COSTLY_FAULT(FAST == 1) && u < 0) angle += y[G] < 0 ? -3.14159265 : 3.14159265;
    b[G] = angle;
}
