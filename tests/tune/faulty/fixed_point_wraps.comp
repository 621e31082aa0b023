// Volumes in fixed point of 16.16: from 32768 on, they wrap round.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float x = clamp(a[G], -1e3, 1e3) * 300, y = floor(x * 65536) / 65536;
    b[G] = COSTLY_FAULT(FAST == 1) ? float(int(int(uint(abs(x) * 65536)) & 0x7fffffff)) / 65536 * sign(x) : y >= 0 ? y : -floor(-x * 65536) / 65536;
}
