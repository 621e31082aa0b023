// An array of four in registers, for eight items.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, ITEMS, 4) SIZE
void main() {
#if RIGHT
    float item[8];
#else
    float item[4];
#endif
    for (uint k = 0; k < ITEMS; ++k) item[k] = a[min(G * ITEMS + k, n - 1)];
    for (uint k = 0; k < ITEMS; ++k) if (G * ITEMS + k < n) b[G * ITEMS + k] = item[k] * 2;
}
