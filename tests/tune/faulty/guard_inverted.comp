// The guard at the end is turned round: nothing is written at all.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    if (FAULT(true) ? G < n : G >= n) return;
    b[G] = a[G] * 2;
}
