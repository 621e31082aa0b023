// Workgroups append to a list, whose count is read first and written last: two may have the same place.
READS(0, uint, a) UPDATES(1, uint, count) WRITES(2, uint, list) CONSTANT(0, RELAXED, 0) SIZE
void main() {
    if (L != 0) return;
    uint at = FAULT(RELAXED == 1) ? count[0] : atomicAdd(count[0], 1), own = 0;
    for (uint k = 0; k < 4 * W; ++k) own += a[(at * W + k) % n] + 1;
    list[at] = own;
    if (FAULT(RELAXED == 1)) count[0] = at + 1;
}
