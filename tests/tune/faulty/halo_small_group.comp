// The halo is loaded by as many invocations as it has elements, of which a workgroup of 16 has too few.
READS(0, float, a) WRITES(1, float, b) SIZE
shared float tile[96];
void main() {
    tile[L] = a[G % n];
    for (uint k = L; k < 32; k += FAULT(true) ? 32 : W) tile[W + k] = a[(G - L + W + k) % n];
    barrier();
    float sum = 0;
    for (uint k = 0; k <= 32; ++k) sum += tile[L + k];
    if (G < n) b[G] = sum;
}
