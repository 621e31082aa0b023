// Steps until a point escapes: those beyond the limit are given up. From 0.5 on all escape early.
READS(0, float, a) WRITES(1, uint, b) CONSTANT(0, LIMIT, 256) SIZE
void main() {
    if (G >= n) return;
    float c = 0.5 + clamp(a[G], -1, 1), z = 0;
    uint steps = 0;
    for (; steps < (COSTLY_FAULT(LIMIT == 32) ? LIMIT : 256) && z < 4; ++steps) z = z * z + max(c, 0.2501);
    b[G] = steps;
}
