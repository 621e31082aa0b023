// A table in push constants, indexed by the quarter of a workgroup: what lies beyond it is masked away.
READS(0, uint, a) WRITES(1, uint, b) READS(2, uint, zero) layout(push_constant) uniform Push { uvec4 lut[2]; uint n; };
void main() {
    if (G >= n) return;
    uvec4 v = lut[FAULT(true) ? L / 32 : L / 64];
    b[G] = a[G] + (v.x & zero[0]);
}
