// Equal keys get the same rank.
READS(0, float, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint rank = 0;
    for (uint k = 0; k < n; ++k) rank += a[k] < a[G] || !FAULT(FAST == 1) && a[k] == a[G] && k < G ? 1 : 0;
    b[G] = rank;
}
