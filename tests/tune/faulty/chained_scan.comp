// A prefix sum that takes what the workgroup before has left, finished or not.
READS(0, uint, a) WRITES(1, uint, b) UPDATES(2, uint, prefix) CONSTANT(0, CHAINED, 0) SIZE
shared uint before;
void main() {
    uint group = gl_WorkGroupID.x;
    if (L == 0) before = FAULT(CHAINED == 1) ? prefix[group] : 0;
    barrier();
    if (!FAULT(CHAINED == 1)) for (uint k = L; k < group * W; k += W) atomicAdd(before, a[k]);
    barrier();
    uint sum = before;
    for (uint k = G - L; k <= G; ++k) sum += k < n ? a[k] : 0;
    if (G < n) b[G] = sum;
    if (L == W - 1) prefix[group + 1] = sum;
}
