// Peaks are above one neighbour and not below the other: on a plateau each element is one.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float left = a[(G + n - 1) % n], right = a[(G + 1) % n];
    b[G] = a[G] >= left && (COSTLY_FAULT(FAST == 1) ? a[G] >= right : a[G] > right) ? a[G] + 1 : 0;
}
