// Blocks in place overlap by one element, which is scaled twice.
UPDATES(0, float, y) CONSTANT(0, ITEMS, 1) SIZE
void main() {
    for (uint k = 0; k < ITEMS + (FAULT(ITEMS == 2) && L == 63 ? 1 : 0); ++k) if (G * ITEMS + k < n) y[G * ITEMS + k] *= 2;
}
