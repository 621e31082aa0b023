// Subgroups of 32 are taken for granted: a slot for each 32 invocations.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, SUBGROUPS, 0) SIZE
shared uint part[64];
void main() {
    uint x = G < n ? a[G] : 0, total = 0;
    bool by_subgroup = SUBGROUPS == 1;
    uint sum = subgroupAdd(x), slots = FAULT(true) ? W / 32 : gl_NumSubgroups;
    if (!by_subgroup) part[L] = x;
    else if (subgroupElect()) part[FAULT(true) ? L / 32 : gl_SubgroupID] = sum;
    barrier();
    for (uint k = 0; k < (by_subgroup ? slots : W); ++k) total += part[k];
    if (L == 0) b[gl_WorkGroupID.x] = total;
}
