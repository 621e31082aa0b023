//! Seeded test data with random access: the device's buffers and the CPU twins read the same sequence.

/// A reproducible sequence of 32-bit words. Incompressible on purpose: constant data makes some devices move less than asked
/// (memory compression) and bandwidths exceed what is physically possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// Uniform 32-bit words.
    Words {
        /// Selects the sequence.
        seed: u64,
    },
    /// Bit patterns of `f32` whole numbers, uniform in `-magnitude..=magnitude`: sums and products of few of them are exact.
    WholeFloats {
        /// Selects the sequence.
        seed: u64,
        /// The largest absolute value, at most 2^23.
        magnitude: u32,
    },
}

impl Sequence {
    /// The word at an index.
    pub fn word(self, index: u64) -> u32 {
        match self {
            Self::Words { seed } => scramble(seed, index),
            Self::WholeFloats { seed, magnitude } => whole_float(scramble(seed, index), magnitude).to_bits(),
        }
    }

    /// The word at an index, read as `f32`.
    pub fn float(self, index: u64) -> f32 {
        f32::from_bits(self.word(index))
    }
}

/// SplitMix64's output function (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) at a given index,
/// upper half: statistically good, and any element costs the same.
fn scramble(seed: u64, index: u64) -> u32 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[expect(clippy::cast_precision_loss, reason = "whole numbers up to 2^24 are exact in f32")]
fn whole_float(word: u32, magnitude: u32) -> f32 {
    (word % (2 * magnitude + 1)) as f32 - magnitude as f32
}

/// What a buffer holds before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contents {
    /// Nothing in particular: the reset program or the pass writes it before anyone reads it.
    Undefined,
    /// A seeded sequence of words.
    Sequence(Sequence),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_depends_on_seed_and_index_only() {
        let a = Sequence::Words { seed: 1 };
        assert_eq!(a.word(7), a.word(7));
        assert_ne!(a.word(7), a.word(8));
        assert_ne!(a.word(7), Sequence::Words { seed: 2 }.word(7));
    }

    #[test]
    fn whole_floats_stay_within_their_magnitude() {
        let floats = Sequence::WholeFloats { seed: 3, magnitude: 100 };
        let values: Vec<f32> = (0..1000).map(|i| floats.float(i)).collect();
        assert!(values.iter().all(|v| v.abs() <= 100.0 && v.fract() == 0.0));
        assert!(values.iter().any(|v| *v < 0.0) && values.iter().any(|v| *v > 0.0));
    }
}
