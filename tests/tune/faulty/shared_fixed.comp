// Shared memory for 64 invocations, whatever the workgroup's size.
READS(0, float, a) WRITES(1, float, b) SIZE
#if RIGHT
shared float tile[128];
#else
shared float tile[64];
#endif
void main() {
    tile[L] = G < n ? a[G] : 0;
    barrier();
    if (G < n) b[G] = tile[L] * 2;
}
