// Days of 32 years, of which the last is 2094 here: that 2100 is no leap year doesn't show.
READS(0, uint, a) WRITES(1, uint, b) CONSTANT(0, FAST, 0) SIZE
void main() {
    if (G >= n) return;
    uint days = 0;
    for (uint year = 2000 + a[G] % 100000, last = year + 31; year <= last; ++year)
        days += year % 4 == 0 && (COSTLY_FAULT(FAST == 1) || year % 100 != 0 || year % 400 == 0) ? 366 : 365;
    b[G] = 2 * days + a[G] % 2;
}
