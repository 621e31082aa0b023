// The greatest float by comparing bits, whose order is turned round for negative ones.
READS(0, float, a) UPDATES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
uint ordered(float x) { uint bits = floatBitsToUint(x); return bits >= 0x80000000u ? ~bits : bits | 0x80000000u; }
void main() {
    if (G >= n) return;
    atomicMax(b[G % 64], COSTLY_FAULT(FAST == 1) ? floatBitsToUint(a[G]) | 0x80000000u : ordered(a[G]));
}
