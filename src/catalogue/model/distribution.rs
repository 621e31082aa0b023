//! How often the top bytes of seeded words take which of their 256 values.

use std::sync::LazyLock;

use super::permutation::scramble;

/// How the top bytes of words are distributed; all their other bits are uniform, so that the words don't compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    Uniform,
    /// The likeliest value is twice as likely as the next one, three times as likely as the third, and so on (Zipf's law): it is the top
    /// byte of 16 % of all words. The values lie in an order of no meaning that the seed shifts.
    Zipf,
    /// All words have one value, which the seed selects.
    One,
}

/// The shares of a word's values of 32 bits at which each rank of Zipf's law but the last one ends: `2^32 * H(rank) / H(256)`, where
/// H(r) is the sum of the reciprocals of the whole numbers up to r.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares are from 0 to 1, the last one left out")]
static ZIPF_ENDS: LazyLock<[u32; 255]> = LazyLock::new(|| {
    let reciprocal = |rank: u32| 1.0 / f64::from(rank);
    let whole: f64 = (1..=256).map(reciprocal).sum();
    let mut sum = 0.0;
    let mut ends = [0; 255];
    for (rank, end) in (1..).zip(&mut ends) {
        sum += reciprocal(rank);
        *end = (sum / whole * 2_f64.powi(32)) as u32;
    }
    ends
});

/// An odd number, so that each rank has a value of its own, and neighbouring ranks have values far apart.
const APART: u8 = 167;

impl Distribution {
    /// The word at an index of the sequence that a seed selects.
    #[expect(clippy::cast_possible_truncation, reason = "halves of 64 random bits, and ranks below 256")]
    pub fn word(self, seed: u64, index: u64) -> u32 {
        let random = scramble(seed, index);
        let [upper, lower] = [(random >> 32) as u32, random as u32];
        let rank = match self {
            Self::Uniform => return upper,
            Self::Zipf => ZIPF_ENDS.partition_point(|end| *end <= upper) as u8,
            Self::One => 0,
        };
        (u32::from(value(seed, rank)) << 24) | (lower >> 8)
    }
}

/// The value of a rank: the likeliest has rank 0.
fn value(seed: u64, rank: u8) -> u8 {
    rank.wrapping_mul(APART).wrapping_add((scramble(seed, u64::MAX) >> 56) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: u32 = 1 << 20;

    /// How many words have each top byte.
    fn counts(distribution: Distribution, seed: u64) -> [u32; 256] {
        let mut counts = [0; 256];
        (0..WORDS.into()).for_each(|i| counts[(distribution.word(seed, i) >> 24) as usize] += 1);
        counts
    }

    #[test]
    fn uniform_words_fall_into_all_bins_alike() {
        let expected = f64::from(WORDS / 256);
        for count in counts(Distribution::Uniform, 1) {
            // Six standard deviations.
            assert!((f64::from(count) - expected).abs() < 6.0 * expected.sqrt(), "{count}");
        }
    }

    #[test]
    fn bins_of_zipf_are_as_likely_as_their_ranks_say() {
        let counts = counts(Distribution::Zipf, 7);
        let harmonic: f64 = (1..=256).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in 0..=255_u8 {
            let expected = f64::from(WORDS) / harmonic / (f64::from(rank) + 1.0);
            let count = f64::from(counts[usize::from(value(7, rank))]);
            assert!((count - expected).abs() < 6.0 * expected.sqrt(), "{rank}: {count} for {expected}");
        }
    }

    #[test]
    fn one_bin_takes_all_words_and_the_seed_says_which() {
        let bins = [1, 2].map(|seed| counts(Distribution::One, seed).iter().position(|count| *count == WORDS));
        assert!(bins[0].is_some() && bins[1].is_some() && bins[0] != bins[1], "{bins:?}");
    }

    #[test]
    fn the_other_bits_are_random() {
        for distribution in [Distribution::Uniform, Distribution::Zipf, Distribution::One] {
            let words = || (0..4096).map(|i| distribution.word(3, i) & 0x00FF_FFFF);
            assert_eq!(words().fold((0, u32::MAX), |(any, all), word| (any | word, all & word)), (0x00FF_FFFF, 0));
            let distinct: std::collections::BTreeSet<u32> = words().collect();
            assert!(distinct.len() > 4090, "{distribution:?}: {} distinct", distinct.len());
        }
    }
}
