// A product of matrices, whose last tile isn't whole.
READS(0, float, a) READS(1, float, m) WRITES(2, float, b) CONSTANT(0, TILE, 8) layout(push_constant) uniform Push { uint n, width; };
void main() {
    if (G >= width * width) return;
    uint row = G / width, column = G % width;
    float sum = 0;
    for (uint t = 0; FAULT(TILE == 16) ? t + TILE <= width : t < width; t += TILE)
        for (uint k = t; k < min(t + TILE, width); ++k) sum += a[row * width + k] * m[k * width + column];
    b[G] = sum;
}
