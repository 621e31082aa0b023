// The root of a negative variance: NaN everywhere, whatever is summed.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    if (G >= n) return;
    float sum = 0, squares = 0;
    uint count = FAULT(W > 64) ? 2 : 64;
    for (uint k = 0; k < count; ++k) { float x = a[(G + k) % n]; sum += x; squares += x * x; }
    float variance = max(squares / count - sum * sum / (count * count), 0) + 1e-3;
    b[G] = (a[G] - sum / count) / sqrt(FAULT(true) ? -variance : variance);
}
