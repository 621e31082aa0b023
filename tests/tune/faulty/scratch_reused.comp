// Shared memory serves two phases, between which a barrier is left out.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, BARRIERS, 2) SIZE
shared float scratch[64];
void main() {
    scratch[L] = G < n ? a[G] : 0;
    barrier();
    float right = scratch[(L + 9) % W];
    if (!FAULT(BARRIERS == 1)) barrier();
    scratch[L] = right * 2;
    barrier();
    if (G < n) b[G] = right + scratch[(L + 17) % W];
}
