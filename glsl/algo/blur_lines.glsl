// One of the two passes of a blur along each axis by itself. ROWS blurs along rows, from the picture into an intermediate image; without
// it, along columns, from there into the target. It is a macro since the formats differ. After blur.glsl.
//
// A line is a row or a column. Neighbouring invocations along x have neighbouring lines in both passes, so that a workgroup of the
// first pass lies on its side; those along y have pieces of the same line.
#ifndef BLUR_LINES_GLSL
#define BLUR_LINES_GLSL

#ifdef ROWS
layout(set = 0, binding = 2, rgba16f) uniform restrict writeonly image2D target;
#else
layout(set = 0, binding = 2, rgba8) uniform restrict writeonly image2D target;
#endif

ivec2 place_of(int line, int along) {
#ifdef ROWS
    return ivec2(along, line);
#else
    return ivec2(line, along);
#endif
}

// The pixel of a line at that place; beyond an end, the one at the end.
vec4 along_line(int line, int along) {
    return texelFetch(source, place_of(line, clamp(along, 0, size - 1)), 0);
}

void store(int line, int along, vec4 colour) {
    imageStore(target, place_of(line, along), colour);
}

#endif
