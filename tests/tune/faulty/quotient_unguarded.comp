// A colour taken out of its alpha, which may be zero.
READS(0, float, colour) READS(1, float, alpha) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() { if (G < n) b[G] = COSTLY_FAULT(FAST == 1) || alpha[G] != 0 ? colour[G] / alpha[G] : 0; }
