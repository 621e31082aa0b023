// Newton's steps towards a square root, from a guess that fits 0.5 to 2.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, STEPS, 24) SIZE
void main() {
    if (G >= n) return;
    float x = 1 + min(abs(a[G]), 1e6), root = 1;
    for (uint k = 0; k < (COSTLY_FAULT(STEPS == 4) ? STEPS : 24); ++k) root = 0.5 * (root + x / root);
    b[G] = root;
}
