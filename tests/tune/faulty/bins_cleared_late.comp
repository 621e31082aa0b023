// Bins are cleared, and counted in at once: some subgroups' counts are cleared as well.
READS(0, uint, a) UPDATES(1, uint, h) SIZE
shared uint bins[32];
void main() {
    if (L < 32) bins[31 - L] = 0;
    if (!FAULT(true)) barrier();
    if (G < n) atomicAdd(bins[a[G] % 32], 1);
    barrier();
    if (L < 32) atomicAdd(h[L], bins[L]);
}
