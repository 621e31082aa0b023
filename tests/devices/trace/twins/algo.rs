//! What the shaders of `glsl/algo` do.

use std::collections::BTreeSet;

use super::Place::{self, Image, Shared};
use super::{Own, Twin, at, every};

pub const TWINS: &[Twin] = &[
    ("algo/reduce_atomics.comp", reduce_atomics),
    ("algo/reduce_tree.comp", reduce_tree),
    ("algo/reduce_subgroup.comp", reduce_subgroup),
    ("algo/scan_within.comp", scan_within),
    ("algo/scan_sums.comp", scan_sums),
    ("algo/scan_add.comp", scan_add),
    ("algo/scan_reduce.comp", scan_reduce),
    ("algo/scan_tiles.comp", scan_tiles),
    ("algo/histogram_global.comp", histogram_global),
    ("algo/histogram_shared.comp", histogram_shared),
    ("algo/histogram_aggregated.comp", histogram_aggregated),
    ("algo/transpose_naive.comp", transpose_naive),
    ("algo/transpose_tiled.comp", transpose_tiled),
    ("algo/matmul_blocked.comp", matmul_blocked),
    ("algo/blur_tiled.comp", blur_tiled),
    ("algo/nbody_tiled.comp", nbody_tiled),
];

const PARTS: Place = Shared("parts");

/// Bins of a histogram, and a workgroup's own of them.
const BINS: u64 = 256;
const COUNTERS: Place = Shared("counters");

fn own_sum(own: &mut Own) {
    let width = if own.has("VECTORS") { 4 } else { 1 };
    for i in own.elements(own.pushed[0].div_ceil(width)) {
        own.loads(at(1), i, 4 * width);
    }
}

fn reduce_atomics(own: &mut Own) {
    own_sum(own);
    own.adds(at(0), 0);
}

fn reduce_tree(own: &mut Own) {
    own_sum(own);
    let (sums, i, size) = (Shared("sums"), own.local[0], own.size[0]);
    own.stores(sums, i, 4);
    let steps = size.next_power_of_two().ilog2();
    for step in 0..steps {
        let is_interleaved = own.is("INTERLEAVED");
        let stride = if is_interleaved { 1 << step } else { 1 << (steps - 1 - step) };
        let adds = if is_interleaved { i % (2 * stride) == 0 } else { i < stride };
        if adds && i + stride < size {
            own.changes(sums, [i + stride, i]);
        }
    }
    if i == 0 {
        own.loads(sums, 0, 4);
        match own.has("ONE_ATOMIC") {
            true => own.adds(at(0), 0),
            false => own.stores(at(0), own.linear_group(), 4),
        }
    }
}

fn reduce_subgroup(own: &mut Own) {
    own_sum(own);
    if own.lane() == 0 {
        own.stores(PARTS, own.subgroup(), 4);
    }
    if own.subgroup() == 0 {
        let subgroups = own.workers().div_ceil(own.lanes);
        every(own.lanes_here(), own.lane()..subgroups).for_each(|subgroup| own.loads(PARTS, subgroup, 4));
    }
    if own.index() == 0 {
        own.adds(at(0), 0);
    }
}

fn share_part(own: &mut Own) {
    if own.lane() == 0 {
        own.stores(PARTS, own.subgroup(), 4);
    }
    (0..own.constant("SUBGROUPS")).for_each(|subgroup| own.loads(PARTS, subgroup, 4));
}

fn scan_row(own: &mut Own) {
    match (own.has("BY_SUBGROUP"), own.has("WORK_EFFICIENT")) {
        (true, _) => share_part(own),
        (_, true) => scan_row_as_tree(own),
        _ => scan_row_by_doubling(own),
    }
}

fn scan_row_as_tree(own: &mut Own) {
    let (slots, i, size, padded) = (Shared("slots"), own.index(), own.size[0], own.constant("PADDED"));
    own.stores(slots, i, 4);
    if i + size < padded {
        own.stores(slots, i + size, 4);
    }
    let distances = || (0..padded.ilog2()).map(|step| 1 << step);
    let place = |distance: u64| Some((i + 1) * 2 * distance - 1).filter(|at| *at < padded);
    for distance in distances() {
        if let Some(at) = place(distance) {
            own.changes(slots, [at - distance, at]);
        }
    }
    own.loads(slots, padded - 1, 4);
    if i == 0 {
        own.stores(slots, padded - 1, 4);
    }
    for distance in distances().rev() {
        if let Some(at) = place(distance) {
            own.changes(slots, [at, at - distance]);
            own.changes(slots, [at]);
        }
    }
    own.loads(slots, i, 4);
}

fn scan_row_by_doubling(own: &mut Own) {
    let (slots, i, size) = (Shared("slots"), own.index(), own.size[0]);
    let mut row = 0;
    own.stores(slots, i, 4);
    for distance in (0..size.next_power_of_two().ilog2()).map(|step| 1 << step) {
        if i >= distance {
            own.loads(slots, row * size + i - distance, 4);
        }
        row ^= 1;
        own.stores(slots, row * size + i, 4);
    }
    own.loads(slots, row * size + size - 1, 4);
}

fn scan_within(own: &mut Own) {
    let (items, workers, size) = (own.constant("ITEMS"), own.workers(), own.pushed[0]);
    let tile = own.linear_group();
    let first = tile * items * workers + own.index();
    for place in (0..items).map(|row| first + row * workers) {
        if place < size {
            own.loads(at(0), place, 4);
        }
        scan_row(own);
        if place < size {
            own.stores(at(1), place, 4);
        }
    }
    if own.index() == 0 && first < size {
        own.stores(at(2), tile, 4);
    }
}

fn scan_sums(own: &mut Own) {
    let (vectors, workers) = (own.pushed[0], own.workers());
    for first in every(workers, 0..vectors) {
        let i = first + own.index();
        if i < vectors {
            own.loads(at(0), i, 16);
        }
        scan_row(own);
        if i < vectors {
            own.stores(at(0), i, 16);
        }
    }
}

fn scan_add(own: &mut Own) {
    let (size, workers) = (own.pushed[0], own.workers());
    let tile_size = own.constant("ITEMS") * workers;
    let tile = own.linear_group();
    let first = tile * tile_size + own.index();
    if first < size {
        own.loads(at(1), tile, 4);
        for i in every(workers, first..size.min((tile + 1) * tile_size)) {
            own.changes(at(0), [i]);
        }
    }
}

/// The invocation's vectors, and whether its tile is whole; nothing where there is no such tile.
fn vectors_of_tile(own: &Own) -> Option<(Vec<u64>, bool)> {
    let (items, size, tile) = (own.constant("ITEMS"), own.pushed[0], own.linear_group());
    let (rows, tile_size) = (items / 4, items * own.workers());
    let first = tile * (tile_size / 4) + own.subgroup() * own.lanes * rows + own.lane();
    let vectors = (0..rows).map(|row| first + row * own.lanes_here()).filter(|vector| 4 * vector < size);
    (tile * tile_size < size).then(|| (vectors.collect(), tile < size / tile_size))
}

fn scan_reduce(own: &mut Own) {
    let Some((vectors, _)) = vectors_of_tile(own) else { return };
    vectors.into_iter().for_each(|vector| own.loads(at(0), vector, 16));
    share_part(own);
    if own.local[0] == 0 {
        own.stores(at(1), own.linear_group(), 4);
    }
}

fn scan_tiles(own: &mut Own) {
    let Some((vectors, is_whole)) = vectors_of_tile(own) else { return };
    vectors.iter().for_each(|vector| own.loads(at(0), *vector, 16));
    own.loads(at(3), own.linear_group(), 4);
    share_part(own);
    for vector in vectors {
        match is_whole {
            true => own.stores(at(2), vector, 16),
            false => (4 * vector..own.pushed[0].min(4 * vector + 4)).for_each(|i| own.stores(at(1), i, 4)),
        }
    }
}

fn bin_of(own: &Own, key: u64) -> u64 {
    own.word(1, key) >> 24
}

/// The workgroup's share of the keys; `count` is told the places of those that count.
fn count_keys(own: &mut Own, count: fn(&mut Own, u64)) {
    let (workers, width, keys) = (own.workers(), own.number("WIDTH"), own.pushed[0]);
    let elements = own.constant("ITEMS") / width;
    let tile_size = elements * workers;
    for tile in every(own.grid[0], own.linear_group()..keys / (tile_size * width) + 1) {
        for k in 0..elements {
            let element = tile * tile_size + k * workers + own.local[0];
            if element < keys.div_ceil(width) {
                own.loads(at(1), element, 4 * width);
            }
            (element * width..(element + 1) * width).filter(|key| *key < keys).for_each(|key| count(own, key));
        }
    }
}

fn histogram_global(own: &mut Own) {
    count_keys(own, |own, key| own.adds(at(0), bin_of(own, key)));
}

fn slot(own: &Own, bin: u64, copy: u64) -> u64 {
    if own.is("INTERLEAVED") { bin * own.constant("COPIES") + copy } else { copy * BINS + bin }
}

fn count_in_copies(own: &mut Own, count: fn(&mut Own, u64)) {
    let (workers, first, copies) = (own.workers(), own.local[0], own.constant("COPIES"));
    every(workers, first..BINS * copies).for_each(|i| own.stores(COUNTERS, i, 4));
    count_keys(own, count);
    let is_ours = |key: &u64| key / (own.constant("ITEMS") * workers) % own.grid[0] == own.linear_group();
    let counted: BTreeSet<u64> = (0..own.pushed[0]).filter(is_ours).map(|key| bin_of(own, key)).collect();
    for bin in every(workers, first..BINS) {
        (0..copies).for_each(|k| own.loads(COUNTERS, slot(own, bin, (bin + k) % copies), 4));
        if counted.contains(&bin) {
            own.adds(at(0), bin);
        }
    }
}

fn histogram_shared(own: &mut Own) {
    count_in_copies(own, |own, key| {
        let sharers = if own.is("INTERLEAVED") { 1 } else { own.constant("SHARERS") };
        let copy = own.local[0] / sharers % own.constant("COPIES");
        own.adds(COUNTERS, slot(own, bin_of(own, key), copy));
    });
}

fn histogram_aggregated(own: &mut Own) {
    count_in_copies(own, |own, key| {
        let bin = bin_of(own, key);
        // The first lane of those with this bin counts for all.
        if (key - own.lane()..key).all(|other| bin_of(own, other) != bin) {
            own.adds(COUNTERS, slot(own, bin, 0));
        }
    });
}

/// The invocation's places in the part of its tile that is so large.
fn places_in_tile(own: &Own, [width, height]: [u64; 2]) -> Vec<[u64; 2]> {
    let [x, y, _] = own.size;
    let tile = own.constant("TILE");
    let across = tile.div_ceil(x);
    let places =
        (0..across * tile.div_ceil(y)).map(|step| [own.local[0] + step % across * x, own.local[1] + step / across * y]);
    places.filter(|place| place[0] < width && place[1] < height).collect()
}

/// The edge of the matrix, where the tile begins, and how much of it there is.
fn tile_of_matrix(own: &Own) -> (u64, [u64; 2], [u64; 2]) {
    let (tile, size) = (own.constant("TILE"), own.pushed[0]);
    let origin = [own.group[0] * tile, own.group[1] * tile];
    (size, origin, origin.map(|from| tile.min(size - from)))
}

fn transpose_naive(own: &mut Own) {
    let (size, origin, extent) = tile_of_matrix(own);
    for [x, y] in places_in_tile(own, extent) {
        own.loads(at(0), (origin[1] + y) * size + origin[0] + x, 4);
        own.stores(at(1), (origin[0] + x) * size + origin[1] + y, 4);
    }
}

fn transpose_tiled(own: &mut Own) {
    let (size, origin, extent) = tile_of_matrix(own);
    let (pitch, is_swizzled) = (own.constant("TILE") + own.constant("PADDING"), own.is("SWIZZLED"));
    let slot = |row: u64, column: u64| row * pitch + if is_swizzled { column ^ row } else { column };
    for [x, y] in places_in_tile(own, extent) {
        own.loads(at(0), (origin[1] + y) * size + origin[0] + x, 4);
        own.stores(Shared("tile"), slot(y, x), 4);
    }
    for [x, y] in places_in_tile(own, [extent[1], extent[0]]) {
        own.loads(Shared("tile"), slot(x, y), 4);
        own.stores(at(1), (origin[0] + y) * size + origin[1] + x, 4);
    }
}

fn matmul_blocked(own: &mut Own) {
    const BAND: u64 = 8;
    let [items_m, items_n, tile_k] = ["ITEMS_M", "ITEMS_N", "TILE_K"].map(|name| own.constant(name));
    let ([rows, columns, inner], [x, y, _]) = ([own.pushed[0], own.pushed[1], own.pushed[2]], own.size);
    let (tile_m, tile_n) = (y * items_m, x * items_n);
    let (tiles_across, tiles_down) = (columns.div_ceil(tile_n), rows.div_ceil(tile_m));
    let (band, i) = (own.linear_group() / (BAND * tiles_across), own.linear_group() % (BAND * tiles_across));
    let height = BAND.min(tiles_down - band * BAND);
    let (first_column, first_row) = (i / height * tile_n, (band * BAND + i % height) * tile_m);
    let per_word = if own.has("BYTES") { 4 } else { 1 + u64::from(own.has("HALVES")) };
    let sides = [
        (at(0), Shared("left_tile"), first_row, tile_m, rows, !own.is("LEFT_TRANSPOSED")),
        (at(1), Shared("right_tile"), first_column, tile_n, columns, own.is("RIGHT_TRANSPOSED")),
    ];
    for first_k in every(tile_k, 0..inner) {
        for (matrix, tile, first_line, tile_lines, lines, is_along_k) in sides {
            for i in every(own.workers(), own.index()..tile_lines * tile_k) {
                let (line, k) = if is_along_k { (i / tile_k, i % tile_k) } else { (i % tile_lines, i / tile_lines) };
                let (of_matrix, k_of_matrix) = (first_line + line, first_k + k);
                if of_matrix < lines && k_of_matrix < inner {
                    let element = if is_along_k { of_matrix * inner + k_of_matrix } else { k_of_matrix * lines + of_matrix };
                    own.loads(matrix, element / per_word, 4);
                }
                own.stores(tile, k * (tile_lines + 1) + line, 4);
            }
        }
        for k in 0..tile_k {
            (0..items_m).for_each(|i| own.loads(sides[0].1, k * (tile_m + 1) + i * y + own.local[1], 4));
            (0..items_n).for_each(|j| own.loads(sides[1].1, k * (tile_n + 1) + j * x + own.local[0], 4));
        }
    }
    for (i, j) in (0..items_m).flat_map(|i| (0..items_n).map(move |j| (i, j))) {
        let (row, column) = (first_row + i * y + own.local[1], first_column + j * x + own.local[0]);
        if row < rows && column < columns {
            own.stores(at(2), row * columns + column, 4);
        }
    }
}

fn blur_tiled(own: &mut Own) {
    let ([radius, items], [x, y, _], size) = (["RADIUS", "ITEMS"].map(|name| own.constant(name)), own.size, own.pushed[0]);
    let (taps, halo, workers) = (2 * radius + 1, Shared("halo"), own.workers());
    let halo_width = x + 2 * radius;
    let halo_pixels = halo_width * (y * items + 2 * radius);
    for first in every(4 * workers, own.index()..halo_pixels) {
        for pixel in (0..4).map(|k| first + k * workers) {
            own.loads(Image, 0, 0);
            if pixel < halo_pixels {
                own.stores(halo, pixel, 8);
            }
        }
    }
    let weighs = |own: &mut Own, tap: u64| (0..items).for_each(|_| own.loads(at(0), 4 * tap, 4));
    for across in 0..taps {
        let top = own.local[1] * items * halo_width + own.local[0] + across;
        (0..taps + items - 1).for_each(|row| own.loads(halo, top + row * halo_width, 8));
        (0..taps).for_each(|down| weighs(own, down));
        weighs(own, across);
    }
    let first_row = (own.group[1] * y + own.local[1]) * items;
    let is_within = own.group[0] * x + own.local[0] < size;
    (first_row..first_row + items).filter(|row| is_within && *row < size).for_each(|_| own.stores(Image, 0, 0));
}

fn nbody_tiled(own: &mut Own) {
    let [items, tile_size] = ["ITEMS", "TILE"].map(|name| own.constant(name));
    let (count, size, tile) = (own.pushed[0], own.size[0], Shared("tile"));
    let first_body = own.linear_group() * items * size + own.local[0];
    let bodies = || (0..items).map(|k| first_body + k * size);
    bodies().for_each(|body| own.loads(at(0), body.min(count - 1), 16));
    for first in every(tile_size, 0..count) {
        for i in every(size, own.local[0]..tile_size) {
            if first + i < count {
                own.loads(at(0), first + i, 16);
            }
            own.stores(tile, i, 16);
        }
        (0..tile_size).for_each(|i| own.loads(tile, i, 16));
    }
    bodies().filter(|body| *body < count).for_each(|body| own.stores(at(1), body, 16));
}
