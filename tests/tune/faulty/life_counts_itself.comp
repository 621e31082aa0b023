// A game of life that counts the cell itself: on the empty board that the user gives, nothing lives.
READS(0, uint, cells) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint count = 0;
    for (uint dy = 0; dy < 3; ++dy) for (uint dx = 0; dx < 3; ++dx)
        if (COSTLY_FAULT(FAST == 1) || dx != 1 || dy != 1) count += cells[(G + n - 65 + 64 * dy + dx) % n] % 2;
    b[G] = count == 3 || count == 2 && cells[G] % 2 == 1 ? 1 : 0;
}
