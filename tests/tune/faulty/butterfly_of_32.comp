// A butterfly over 32 lanes, of which the subgroup has fewer.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, SHUFFLE, 0) SIZE
shared uint tile[64];
void main() {
    uint x = G < n ? a[G] : 0, sum = 0;
    tile[L] = x;
    barrier();
    if (SHUFFLE == 1 && (FAULT(true) || gl_SubgroupSize == 32)) {
        sum = x;
        for (uint mask = 1; mask < 32; mask *= 2) sum += subgroupShuffleXor(sum, mask);
    } else for (uint k = 0; k < 32; ++k) sum += tile[L / 32 * 32 + k];
    if (G < n) b[G] = sum;
}
