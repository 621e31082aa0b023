// The last workgroup writes the sum. Where two have the same ticket, none is the last.
READS(0, uint, a) UPDATES(1, uint, done) UPDATES(2, uint, sum) UPDATES(3, uint, b) CONSTANT(0, RELAXED, 0) SIZE
void main() {
    if (L != 0) return;
    uint ticket = done[0], own = 0;
    for (uint k = 0; k < 2 * W; ++k) own += a[(G + k) % n];
    atomicAdd(sum[0], own);
    memoryBarrierBuffer();
    if (FAULT(RELAXED == 1)) done[0] = ticket + 1; else ticket = atomicAdd(done[0], 1);
    if (ticket == gl_NumWorkGroups.x - 1) b[0] = atomicAdd(sum[0], 0);
}
