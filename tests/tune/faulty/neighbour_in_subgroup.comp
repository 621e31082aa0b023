// The missing barrier matters only between subgroups, and both neighbours are in one: every driver at hand is right each time.
READS(0, uint, a) WRITES(1, uint, b) SIZE
shared uint tile[64];
void main() {
    tile[L] = G < n ? a[G] : 0;
#if RIGHT
    barrier();
#endif
    if (G < n) b[G] = tile[L ^ 1];
}
