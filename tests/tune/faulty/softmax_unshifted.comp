// A softmax without the maximum taken off: overflows from 89 on.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float most = a[G], sum = 0;
    for (uint k = 1; k < 32; ++k) most = max(most, a[(G + k) % n]);
    if (FAULT(FAST == 1)) most = 0;
    for (uint k = 0; k < 32; ++k) sum += exp(a[(G + k) % n] - most);
    b[G] = exp(a[G] - most) / sum;
}
