// A grid-stride loop that is unrolled has no rest.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, UNROLL, 1) SIZE
void main() {
    uint stride = gl_NumWorkGroups.x * W;
    for (uint i = G; COSTLY_FAULT(UNROLL == 4) ? i + (UNROLL - 1) * stride < n : i < n; i += UNROLL * stride)
        for (uint u = 0; u < UNROLL; ++u) if (i + u * stride < n) b[i + u * stride] = a[i + u * stride] + 1;
}
