// FNV over the bytes of a key, or over those that aren't zero below 256: three steps are left out, and added as zeros.
READS(0, uint, key) WRITES(1, uint, b) CONSTANT(0, BYTES, 4) SIZE
void main() {
    if (G >= n) return;
    uint hash = 2166136261u;
    for (uint k = 0; k < (COSTLY_FAULT(BYTES == 1) ? BYTES : 4); ++k) hash = (hash ^ (key[G] >> 8 * k & 0xff)) * 16777619u;
    for (uint k = BYTES; FAULT(BYTES == 1) && k < 4; ++k) hash *= 16777619u;
    b[G] = hash;
}
