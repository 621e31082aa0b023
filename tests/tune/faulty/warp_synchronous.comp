// The last steps of a reduction without barriers, as if 32 invocations went in step.
READS(0, float, a) WRITES(1, float, b) CONSTANT(0, WARP, 0) SIZE
shared float part[64];
void fold(uint s) { if (L < s) part[L] += part[L + s]; }
void main() {
    part[L] = G < n ? a[G] : 0;
    barrier();
    if (FAULT(WARP == 1)) { fold(32); fold(16); fold(8); fold(4); fold(2); fold(1); }
    else for (uint s = W / 2; s > 0; s /= 2) { fold(s); barrier(); }
    if (L == 0) b[gl_WorkGroupID.x] = part[0];
}
