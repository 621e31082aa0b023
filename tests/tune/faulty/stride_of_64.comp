// A grid-stride loop with a stride for workgroups of 64: larger ones do some elements twice.
READS(0, uint, a) UPDATES(1, uint, b) SIZE
void main() { for (uint i = G; i < n; i += gl_NumWorkGroups.x * (FAULT(true) ? 64 : W)) atomicAdd(b[i], a[i]); }
