//! What twins compute beforehand, part by part on all processors.

use std::ops::Range;

use rayon::prelude::*;

/// Elements of a part: it is worth a thread's while.
const PART: u64 = 1 << 16;

/// What is made of each part of an array of so many elements, in order.
pub fn in_parts<T: Send>(elements: u64, make: impl Fn(Range<u64>) -> T + Send + Sync) -> Vec<T> {
    let part = |i: u64| make(i * PART..((i + 1) * PART).min(elements));
    (0..elements.div_ceil(PART)).into_par_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_whole() {
        for elements in [0, 1, PART, PART + 1, 10 * PART - 1] {
            let parts = in_parts(elements, |range| range);
            assert!(parts.into_iter().flatten().eq(0..elements), "{elements}");
        }
    }
}
