// Sparse rows lie between two pointers. A loop that tests at its end reads one element of an empty row.
READS(0, uint, row) READS(1, float, value) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint one = row[G] % n, other = row[(G + 1) % n] % n;
    if (one == other && row[G] != row[(G + 1) % n]) other = (one + 1) % n;
    uint k = min(one, other), end = max(one, other);
    float sum = 0;
    if (COSTLY_FAULT(FAST == 1) || k < end) do { sum += value[k]; } while (++k < end);
    b[G] = sum;
}
