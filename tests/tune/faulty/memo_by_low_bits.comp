// A memo whose key is the lower four bits: below 16 they are the whole value.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, MEMO, 0) SIZE
uint hashed(uint x) { for (uint k = 0; k < 32; ++k) x = x * 1664525u + 1013904223u; return x; }
void main() { if (G < n) b[G] = hashed(COSTLY_FAULT(MEMO == 1) ? a[G] & 15 : a[G]); }
