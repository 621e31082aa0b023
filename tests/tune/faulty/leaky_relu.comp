// The slope below zero is left out.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() { if (G < n) b[G] = a[G] > 0 ? a[G] : COSTLY_FAULT(FAST == 1) ? 0 : 0.25 * a[G]; }
