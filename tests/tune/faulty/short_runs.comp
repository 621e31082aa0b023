// How long a run is, up to two.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, MOST, 64) SIZE
void main() {
    if (G >= n) return;
    uint run = 1;
    while (run < (COSTLY_FAULT(MOST == 2) ? MOST : 64) && a[(G + run) % n] == a[G]) ++run;
    b[G] = float(run) + clamp(a[G], 0, 0.5);
}
