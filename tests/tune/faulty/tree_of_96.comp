// A tree whose halves don't come out even loses elements.
READS(0, uint, a) UPDATES(1, uint, total) SIZE
shared uint part[96];
void main() {
    part[L] = G < n ? a[G] : 0;
    for (uint s = FAULT(true) ? W / 2 : 64; s > 0; s /= 2) {
        barrier();
        if (L < s && L + s < W) part[L] += part[L + s];
    }
    if (L == 0) atomicAdd(total[0], part[0]);
}
