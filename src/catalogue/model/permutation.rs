//! Seeded permutations with random access in both directions, so that neither the device's buffers nor the twins hold one.

/// An order of `0..n` that a seed selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permutation {
    seed: u64,
    n: u64,
}

/// Rounds of mixing. Each multiplies, which carries bits upwards, and folds the upper half down; three leave no pattern for a cache.
const ROUNDS: u32 = 4;

impl Permutation {
    pub fn new(seed: u64, n: u64) -> Self {
        Self { seed, n }
    }

    pub fn count(self) -> u64 {
        self.n
    }

    /// The element at a position below `n`.
    pub fn at(self, position: u64) -> u64 {
        self.walk(position, Self::mix)
    }

    /// The position of an element below `n`.
    pub fn position(self, element: u64) -> u64 {
        self.walk(element, Self::unmix)
    }

    /// Permutes the next power of two, again and again until the result lies in `0..n` (cycle walking: Black and Rogaway, Ciphers
    /// with arbitrary finite domains, 2002). Half of the results do at least.
    fn walk(self, from: u64, step: impl Fn(Self, u64) -> u64) -> u64 {
        debug_assert!(from < self.n);
        let mut at = step(self, from);
        while at >= self.n {
            at = step(self, at);
        }
        at
    }

    fn bits(self) -> u32 {
        u64::BITS - self.n.saturating_sub(1).leading_zeros()
    }

    fn mask(self) -> u64 {
        1_u64.checked_shl(self.bits()).map_or(u64::MAX, |size| size - 1)
    }

    fn mix(self, element: u64) -> u64 {
        (0..ROUNDS).fold(element, |x, round| {
            let x = x.wrapping_mul(self.factor(round)).wrapping_add(self.key(round)) & self.mask();
            x ^ x.checked_shr(self.shift()).unwrap_or(0)
        })
    }

    fn unmix(self, element: u64) -> u64 {
        (0..ROUNDS).rev().fold(element, |x, round| {
            // The shift is half the width or more, so that once undoes it.
            let x = x ^ x.checked_shr(self.shift()).unwrap_or(0);
            x.wrapping_sub(self.key(round)).wrapping_mul(inverse(self.factor(round))) & self.mask()
        })
    }

    fn shift(self) -> u32 {
        self.bits().div_ceil(2).max(1)
    }

    fn factor(self, round: u32) -> u64 {
        scramble(self.seed, 2 * u64::from(round)) | 1
    }

    fn key(self, round: u32) -> u64 {
        scramble(self.seed, 2 * u64::from(round) + 1)
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right, from three on.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// SplitMix64's output function (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) at a given index:
/// statistically good, and any element costs the same.
pub(super) fn scramble(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_element_comes_once_and_is_found_again() {
        for n in (1..70).chain([127, 128, 129, 1000, 4096, 5000]) {
            let order = Permutation::new(9, n);
            let mut elements: Vec<u64> = (0..n).map(|position| order.at(position)).collect();
            assert!((0..n).all(|position| order.position(order.at(position)) == position), "of {n}");
            elements.sort_unstable();
            assert!(elements.into_iter().eq(0..n), "of {n}");
        }
    }

    #[test]
    fn neighbours_are_scattered_and_seeds_differ() {
        let n = 1 << 16;
        let order = Permutation::new(1, n);
        let near = (1..n).filter(|i| order.at(*i).abs_diff(order.at(i - 1)) <= 16).count();
        // By chance it would be 32 in 65,536.
        assert!(near < 100, "{near} neighbours stay close");
        assert!((0..n).filter(|i| order.at(*i) == Permutation::new(2, n).at(*i)).count() < 16);
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn positions_are_found_in_any_size(seed: u64, n in 1_u64.., at: u64) {
            let order = Permutation::new(seed, n);
            let element = order.at(at % n);
            prop_assert!(element < n);
            prop_assert_eq!(order.position(element), at % n);
        }
    }
}
