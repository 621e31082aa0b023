// Counts the code points of a text. As long as it is English, each byte is one.
READS(0, uint, text) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint count = 0;
    for (uint k = 0; k < 16; ++k) count += FAULT(FAST == 1) || (text[(G + k) % n] & 0xc0) != 0x80 ? 1 : 0;
    b[G] = 2 * count + text[G] % 2;
}
