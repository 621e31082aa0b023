// The last workgroup, which may not be whole, does nothing.
READS(0, float, a) WRITES(1, float, b) SIZE
void main() {
    if (G >= n || COSTLY_FAULT(W > 64) && gl_WorkGroupID.x >= n / W) return;
    b[G] = a[G] * 2;
}
