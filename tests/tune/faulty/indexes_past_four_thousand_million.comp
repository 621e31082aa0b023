// Only from 2^32 elements on, which no buffer here has.
READS(0, float, a) WRITES(1, float, b) layout(push_constant) uniform Size { uint rows, columns; };
void main() {
    uint row = gl_GlobalInvocationID.y, i = row * columns + G;
    if (G < columns && row < rows) b[i] = a[i] * 2;
}
