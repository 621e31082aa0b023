// A tile is filled anew while others still read it: the second barrier is left out.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, BARRIERS, 2) SIZE
shared float tile[64];
void main() {
    float sum = 0;
    for (uint t = 0; t < 16; ++t) {
        uint i = (G + t * W) % n;
        tile[L] = a[i];
        barrier();
        for (uint k = 0; k < 8; ++k) sum += tile[(L + 11 * k) % W];
        if (!FAULT(BARRIERS == 1)) barrier();
    }
    if (G < n) b[G] = sum;
}
