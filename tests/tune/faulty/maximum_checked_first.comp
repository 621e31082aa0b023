// Another workgroup may write between the comparison and the assignment.
READS(0, uint, a) UPDATES(1, uint, best) CONSTANT(0, RELAXED, 0) SIZE
void main() {
    if (L != 0) return;
    for (uint slot = 0; slot < 16; ++slot) {
        uint before = best[slot], own = before;
        for (uint k = 0; k < W; ++k) own = max(own, a[(G + k + 911 * slot) % n] * (2654435761u + 2 * slot));
        if (FAULT(RELAXED == 1)) best[slot] = own; else atomicMax(best[slot], own);
    }
}
