// p log p of a probability that is zero.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < 16; ++k) { float p = abs(a[(G + k) % n]); sum += FAULT(FAST == 1) || p > 0 ? p * log(p) : 0; }
    b[G] = sum;
}
