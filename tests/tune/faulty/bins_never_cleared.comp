// A workgroup with fewer invocations than bins doesn't clear all of them.
READS(0, uint, a) UPDATES(1, uint, h) SIZE
shared uint bins[128];
void main() {
#if RIGHT
    for (uint k = L; k < 128; k += W) bins[k] = 0;
#else
    if (L < 128) bins[L] = 0;
#endif
    barrier();
    if (G < n) atomicAdd(bins[a[G] % 128], 1);
    barrier();
    for (uint k = L; k < 128; k += W) { atomicAdd(h[k], bins[k]); if (FAULT(true)) bins[k] = 7; }
}
