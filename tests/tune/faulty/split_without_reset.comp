// The parts are added onto what is there, and the user says that zero is there (-b b=:zero): what is measured is right.
READS(0, uint, a) UPDATES(1, uint, b) CONSTANT(0, SPLIT, 1)
void main() {
    uint i = G / SPLIT, part = G % SPLIT, sum = 0;
    for (uint k = part * 4 / SPLIT; k < (part + 1) * 4 / SPLIT; ++k) sum += a[i * 4 + k];
    if (SPLIT == 1 && FAULT(true)) b[i] = sum; else atomicAdd(b[i], sum);
}
