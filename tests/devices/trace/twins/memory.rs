//! What the shaders of `glsl/memory` and `glsl/shared` do.

use lanescope::experiments::scramble;

use super::Place::Shared;
use super::{Own, Twin, at, every};

pub const TWINS: &[Twin] = &[
    ("memory/stride.comp", stride),
    ("memory/layout.comp", layout),
    ("memory/gather.comp", gather),
    ("memory/misaligned.comp", misaligned),
    ("shared/bank_conflict.comp", bank_conflict),
];

fn stride(own: &mut Own) {
    let (words, stride) = (own.pushed[0], own.constant("STRIDE"));
    let first = own.group[2] * own.constant("STEP") % stride;
    let is_read = own.has("READ");
    for i in own.elements(words / stride + u64::from(first < words % stride)) {
        match is_read {
            true => own.loads(at(1), i * stride + first, 4),
            false => own.stores(at(0), i * stride + first, 4),
        }
    }
    if is_read {
        own.stores_result();
    }
}

fn layout(own: &mut Own) {
    let (vertices, block) = (own.pushed[0], own.number("AOSOA"));
    // Words from block to block, and from field to field.
    let (of_block, of_field) = match (own.has("AOS"), own.has("PADDED"), own.has("AOSOA")) {
        (true, ..) => (3, 1),
        (_, true, _) => (4, 1),
        (.., true) => (3 * block, block),
        _ => (1, vertices),
    };
    for i in own.elements(vertices) {
        let first = i / block * of_block + i % block;
        (0..own.constant("FIELDS")).for_each(|field| own.loads(at(1), first + field * of_field, 4));
    }
    own.stores_result();
}

fn gather(own: &mut Own) {
    for i in own.elements(own.pushed[0]) {
        own.loads(at(1), i, 4);
        own.loads(at(2), own.word(1, i), 4);
    }
    own.stores_result();
}

fn misaligned(own: &mut Own) {
    let [offset, width] = ["OFFSET", "WIDTH"].map(|name| own.constant(name));
    let bytes = if own.has("BYTES") { 1 } else { 4 };
    for i in own.elements(own.pushed[0]) {
        (0..width).for_each(|component| own.loads(at(1), i * width + component + offset, bytes));
    }
    own.stores_result();
}

fn bank_conflict(own: &mut Own) {
    const SHIFTS: u64 = 8;
    let [pattern, lanes, row, elements] = ["PATTERN", "LANES", "ROW", "ELEMENTS"].map(|name| own.constant(name));
    let (window, bytes, begin) = (Shared("window"), 4 * own.number("WIDTH"), own.linear_group() % 4);
    for i in every(own.size[0], own.local[0]..elements) {
        own.loads(at(1), begin + i, bytes);
        own.stores(window, i, bytes);
    }
    let (lane, block) = (own.local[0] % lanes, 1 << row.ilog2());
    let mut shift = own.pushed[0];
    for _ in 0..own.constant("ITERATIONS") {
        let random = || u64::from(scramble(u32::try_from(lane * SHIFTS + shift).unwrap()) >> 16);
        let place = match pattern {
            1 => 0,
            2 => (lanes - 1 - lane) * row,
            3 => lane * row + ((lane ^ shift) & (block - 1)),
            4 => lane * row + ((random() * row) >> 16),
            _ => lane * row,
        };
        (0..16).for_each(|j| own.loads(window, place + shift + j, bytes));
        shift = (shift + own.pushed[1]) % SHIFTS;
    }
    own.stores_result();
}
