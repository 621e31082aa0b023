// The shorter of two ways between rotations: turned round where they lie apart by more than half a turn.
READS(0, float, p) READS(1, float, q) WRITES(2, float, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    float dot = 0;
    for (uint k = 0; k < 4; ++k) dot += clamp(p[(G + k) % n], -10, 10) * clamp(q[(G + k) % n], -10, 10);
    b[G] = COSTLY_FAULT(FAST == 1) || dot >= 0 ? dot : -dot;
}
