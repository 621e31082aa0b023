// Workgroups of 64 are taken for granted.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    uint i = FAULT(true) ? gl_WorkGroupID.x * 64 + L : G;
    if (i < n) b[i] = a[i] * 2;
}
