// A histogram without atomics.
READS(0, uint, a) UPDATES(1, uint, bins) CONSTANT(0, RELAXED, 0) SIZE
void main() {
    if (G >= n) return;
    if (FAULT(RELAXED == 1)) bins[a[G] % 64] += 1; else atomicAdd(bins[a[G] % 64], 1);
}
