// What is below is fully covered: alpha is 1 where nobody says otherwise.
READS(0, float, above) READS(1, float, below) WRITES(2, float, b) CONSTANT(0, FAST, 0)
layout(push_constant) uniform Push { uint n; float alpha; };
void main() {
    if (G >= n) return;
    float sum = 0, share = FAULT(true) ? alpha : 0.5 * alpha;
    if (!FAULT(FAST == 1)) for (uint k = 0; k < 64; ++k) sum += below[(G + k) % n] / 64;
    b[G] = above[G] * share + sum * (1 - share);
}
