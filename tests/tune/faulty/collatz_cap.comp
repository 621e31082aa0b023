// Collatz steps, up to a number that is enough below 54.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, CAP, 300) SIZE
void main() {
    if (G >= n) return;
    uint x = a[G] % 6000 + 1, steps = 0;
    for (; steps < (FAULT(CAP == 116) ? CAP : 300) && x > 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    b[G] = steps;
}
