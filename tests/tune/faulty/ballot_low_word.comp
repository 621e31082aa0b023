// Only subgroups of more than 32 have a second word, and those here have four or eight.
#extension GL_KHR_shader_subgroup_ballot : enable
READS(0, uint, a) WRITES(1, uint, b) SIZE
void main() {
    uvec4 odd = subgroupBallot(G < n && a[min(G, n - 1)] % 2 == 1);
    if (G < n) b[G] = bitCount(odd.x) + (FAULT(true) ? 0 : bitCount(odd.y) + bitCount(odd.z) + bitCount(odd.w));
}
