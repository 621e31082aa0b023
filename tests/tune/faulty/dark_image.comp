// A dark picture: no texel is more than one step from black, which is what a skipped one is.
READS(0, float, a) CONSTANT(0, SKIP, 0) SIZE
layout(binding = 1, rgba8) writeonly uniform image2D picture;
void main() {
    if (G >= n) return;
    float sum = 0;
    if (!FAULT(SKIP == 1)) for (uint k = 0; k < 16; ++k) sum += a[(G + k) % n] * (k == 0 ? 0.5 : 0.03);
    int width = imageSize(picture).x;
    imageStore(picture, ivec2(G % width, G / width), vec4(0.00784 * sum));
}
