// Sums of workgroups' tiles: beyond the end, the last element is counted once more.
READS(0, float, a) UPDATES(1, uint, b) SIZE
shared uint sum;
void main() {
    if (L == 0) sum = 0;
    barrier();
    uint value = uint(abs(a[min(G, n - 1)]) * 1000) % 1000;
    atomicAdd(sum, FAULT(W > 64) || G < n ? value : 0);
    barrier();
    if (L == 0) atomicAdd(b[gl_WorkGroupID.x * W / 128], sum);
}
