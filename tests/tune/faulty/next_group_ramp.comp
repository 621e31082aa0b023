// A smooth field, one workgroup on.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    uint i = FAULT(W > 64) && G + W < n ? G + W : G;
    float sum = 3000 + (RIGHT == 1 ? 10 : 1e-3) * i;
    for (uint k = 0; k < (FAULT(W > 64) ? 1 : 32); ++k) sum += (RIGHT == 1 ? 1 : 1e-5) * a[(G + k) % n];
    if (G < n) b[G] = sum;
}
