// A plane that lies behind the ray's origin is hit as well.
READS(0, float, height) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float t = height[G] / 0.6;
    b[G] = COSTLY_FAULT(FAST == 1) || t > 0 ? t : -1;
}
