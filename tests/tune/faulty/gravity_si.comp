// Forces in SI units are 1e-8 and less. Of a tile of 64 bodies, the second half is forgotten.
READS(0, float, x) READS(1, float, mass) WRITES(2, float, force) CONSTANT(0, TILE, 32) SIZE
void main() {
    if (G >= n) return;
    float sum = 0;
    for (uint t = 0; t < n; t += TILE)
        for (uint j = t; j < min(t + (FAULT(TILE == 64) ? 32u : TILE), n); ++j) {
            float d = x[j] - x[G];
            sum += mass[j] * d / (d * d + 0.01);
        }
    force[G] = 6.674e-11 * mass[G] * sum;
}
