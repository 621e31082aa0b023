// Vectors of four: what is left over is left out.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, VEC, 1) SIZE
void main() {
    uint end = COSTLY_FAULT(VEC == 4) ? n / VEC * VEC : n;
    for (uint v = 0; v < VEC; ++v) if (G * VEC + v < end) b[G * VEC + v] = a[G * VEC + v] * 2;
}
