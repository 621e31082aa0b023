// Means of blocks above a large offset, of which those of the next block can't be told.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, SAMPLED, 0)
shared float part[64];
void main() {
    uint block = COSTLY_FAULT(SAMPLED == 1) ? (gl_WorkGroupID.x + 1) % gl_NumWorkGroups.x : gl_WorkGroupID.x;
    float sum = 0, total = 0;
    for (uint k = L; k < 256; k += W) sum += a[block * 256 + k];
    part[L] = sum;
    barrier();
    for (uint k = 0; k < W; ++k) total += part[k];
    if (L == 0) b[gl_WorkGroupID.x] = 2000 + total / 256;
}
