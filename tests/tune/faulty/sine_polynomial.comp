// A polynomial for the sine of small angles alone.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float x = clamp(a[G], -100, 100), y = x;
    if (!FAULT(FAST == 1)) y -= 6.2831853 * round(y / 6.2831853);
    if (!FAULT(FAST == 1) && abs(y) > 1.5707963) y = sign(y) * 3.14159265 - y;
    float s = y * y;
    b[G] = y * (1 + s * (-1.0 / 6 + s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880)))));
}
