// A stencil in place: a neighbour in another workgroup may have been written or not.
UPDATES(0, uint, a) WRITES(1, uint, b) SIZE
void main() {
    if (G >= n) return;
    uint sum = 0;
    for (uint k = 0; k < 32; ++k) sum += a[(G + k) % n];
#if RIGHT
    b[G] = sum;
#else
    a[G] = sum;
#endif
}
