// The sum so far is read before a workgroup's own part is known: what others add meanwhile is lost.
READS(0, uint, a) UPDATES(1, uint, total) CONSTANT(0, RELAXED, 0) SIZE
void main() {
    if (L != 0) return;
    uint before = total[0], own = 0;
    for (uint k = 0; k < 4 * W; ++k) own += a[(G + k) % n];
    if (FAULT(RELAXED == 1)) total[0] = before + own; else atomicAdd(total[0], own);
}
