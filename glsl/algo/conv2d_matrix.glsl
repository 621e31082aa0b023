// The source of algo/conv2d as a matrix that lies nowhere: a row for each pixel, and in it the channels of all taps, one tap after the
// other. Include conv2d.glsl before it.
#ifndef CONV2D_MATRIX_GLSL
#define CONV2D_MATRIX_GLSL

// A row of it: which taps lie in the pixel's image, a bit for each, and where the pixel's own channels begin.
struct Row {
    uint taps;
    uint first;
};

// A column: the tap, the channel, and how far behind the pixel's own first channel it lies, which may be before it: then it wraps
// around. Columns beyond the last have taps of which no row has a bit.
struct Column {
    uint tap;
    uint channel;
    uint distance;
};

Row row_of(uint pixel) {
    Row row = Row(0u, pixel * channels);
    if (pixel < pixels) {
        const ivec2 place = place_of(pixel);
        [[unroll]] for (uint tap = 0; tap < TAPS; ++tap) {
            row.taps |= is_in_image(place + offset_of(tap)) ? 1u << tap : 0u;
        }
    }
    return row;
}

uint distance_of(uint tap) {
    return index_offset(offset_of(tap)) * channels;
}

// The column so many after another one. It divides nothing, and finds a tap's place only where a tap begins.
Column moved_by(Column column, uint columns) {
    column.channel += columns;
    column.distance += columns;
    while (column.channel >= channels) {
        column.channel -= channels;
        ++column.tap;
        column.distance = distance_of(column.tap) + column.channel;
    }
    return column;
}

Column column_at(uint i) {
    return moved_by(Column(0u, 0u, distance_of(0u)), i);
}

bool is_there(Row row, Column column) {
    return column.tap < TAPS && (row.taps >> column.tap & 1u) != 0u;
}

#endif
