// A cube by way of a logarithm.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() { if (G < n) b[G] = COSTLY_FAULT(FAST == 1) ? exp2(3 * log2(a[G])) : a[G] * a[G] * a[G]; }
