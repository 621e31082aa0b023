// A flag is set without a memory barrier before it: processors' stores don't overtake each other.
READS(0, uint, a) UPDATES(1, uint, value) UPDATES(2, uint, flag) WRITES(3, uint, b) SIZE
void main() {
    if (L != 0) return;
    value[gl_WorkGroupID.x] = a[G] + 1;
#if RIGHT
    memoryBarrierBuffer();
#endif
    atomicExchange(flag[gl_WorkGroupID.x], 1);
    uint before = max(gl_WorkGroupID.x, 1) - 1;
    b[G / W] = atomicAdd(flag[before], 0) == 1 && value[before] == 0 ? 0 : 1 + a[G];
}
