// Weights beyond the end of their array in push constants, where there are zeros, if there are.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, TAPS, 4) layout(push_constant) uniform Push { uint n; float weight[4]; };
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint k = 0; k < (FAULT(true) ? TAPS : 4); ++k) sum += a[(G + k) % n] * weight[k];
    b[G] = sum;
}
