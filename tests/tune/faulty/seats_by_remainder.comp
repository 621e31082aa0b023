// Shares of a total, which nobody has when all are zero.
READS(0, float, votes) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float total = 0;
    for (uint k = 0; k < 16; ++k) total += abs(votes[(G + k) % n]);
    b[G] = COSTLY_FAULT(FAST == 1) || total > 0 ? abs(votes[G]) / total : 1.0 / 16;
}
