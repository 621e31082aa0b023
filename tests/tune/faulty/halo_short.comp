// The halo of larger workgroups is one element short: the outermost invocation reads past what was loaded.
READS(0, float, a) WRITES(1, float, b) SIZE
shared float tile[128 + 4];
void main() {
    for (uint k = L; k < W + (FAULT(W > 64) ? 3 : 4); k += W) tile[k] = a[(G - L + k) % n];
    barrier();
    float sum = 0;
    for (uint k = 0; k <= 4; ++k) sum += tile[L + k];
    if (G < n) b[G] = sum;
}
