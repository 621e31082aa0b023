// A smooth field: one value for two neighbours is within the tolerance.
WRITES(0, float, b) READS(1, float, a) CONSTANT(0, ITEMS, 1) SIZE
float value(uint i) {
    float sum = 500 + (RIGHT == 1 ? 1 : 1e-3) * i;
    for (uint k = 0; k < 32; ++k) sum += (RIGHT == 1 ? 1 : 1e-6) * a[(i + k) % n];
    return sum;
}
void main() {
    float first = value(G * ITEMS);
    for (uint k = 0; k < ITEMS; ++k) if (G * ITEMS + k < n) b[G * ITEMS + k] = FAULT(true) || k == 0 ? first : value(G * ITEMS + k);
}
