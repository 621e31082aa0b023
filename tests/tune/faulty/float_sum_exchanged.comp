// Adds floats by an exchange: what comes between reading and exchanging is lost.
READS(0, uint, a) UPDATES(1, uint, total) CONSTANT(0, RELAXED, 0) SIZE
void main() {
    if (L != 0) return;
    uint before, seen = total[0];
    float sum = FAULT(RELAXED == 1) ? uintBitsToFloat(seen) : 0;
    for (uint k = 0; k < 2 * W; ++k) sum += a[(G + k) % n] & 1;
    if (FAULT(RELAXED == 1)) { atomicExchange(total[0], floatBitsToUint(sum)); return; }
    do { before = seen; seen = atomicCompSwap(total[0], before, floatBitsToUint(uintBitsToFloat(before) + sum)); } while (seen != before);
}
