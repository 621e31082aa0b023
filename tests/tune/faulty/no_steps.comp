// No step is taken, and what was there before stays.
UPDATES(0, float, x) layout(push_constant) uniform Push { uint n, steps; };
void main() {
    if (G >= n) return;
    float y = x[G];
    for (uint k = 0; k < (FAULT(true) ? steps : 8) * (FAULT(W > 64) ? 1 : 16); ++k) y = 0.9 * y + 0.1;
    x[G] = y;
}
