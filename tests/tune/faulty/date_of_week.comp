// The day of the week: what is left of a negative day is negative.
READS(0, int, day) WRITES(1, int, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    int rest = day[G] - day[G] / 7 * 7;
    b[G] = COSTLY_FAULT(FAST == 1) || rest >= 0 ? rest : rest + 7;
}
