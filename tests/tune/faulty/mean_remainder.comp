// The mean of a row of 32765: by vectors of four, its last element is left out, which is 3e-5 of it.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, VEC, 1)
shared float part[64];
void main() {
    const uint length = 32765, first = gl_WorkGroupID.x * 32768, whole = COSTLY_FAULT(VEC == 4) ? length / 4 * 4 : length;
    float sum = 0, total = 0;
    for (uint i = L * VEC; i < whole; i += W * VEC)
        for (uint v = 0; v < VEC; ++v) if (FAULT(VEC == 4) || i + v < length) sum += abs(a[first + i + v]);
    part[L] = sum;
    barrier();
    for (uint k = 0; k < W; ++k) total += part[k];
    if (L == 0) b[gl_WorkGroupID.x] = total / length;
}
