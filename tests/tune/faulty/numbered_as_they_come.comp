// Workgroups are numbered as they come: what each writes depends on it.
READS(0, uint, a) UPDATES(1, uint, order) WRITES(2, uint, b) CONSTANT(0, TICKET, 0) SIZE
shared uint ticket;
void main() {
    if (L == 0) {
        uint spin = 0;
        for (uint k = 0; k < a[(gl_WorkGroupID.x * 64) % n] % 512; ++k) spin += a[(G + k) % n] & 1;
        ticket = atomicAdd(order[0], 1) + min(spin, 0);
    }
    barrier();
    if (G < n) b[G] = a[G] + 3 * (FAULT(TICKET == 1) ? ticket : gl_WorkGroupID.x);
}
