// Indexes of 16 bits beyond 65,535.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() { if (G < n) b[G] = a[FAULT(FAST == 1) ? G & 0xffff : G]; }
