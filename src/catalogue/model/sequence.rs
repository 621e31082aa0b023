//! Seeded test data with random access: the device's buffers and the CPU twins read the same sequence.

use half::{bf16, f16};

use super::data::Data;
use super::distribution::Distribution;
use super::permutation::{Permutation, scramble};

/// A reproducible sequence of 32-bit words. Incompressible on purpose: constant data makes some devices move less than asked
/// (memory compression) and bandwidths exceed what is physically possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// Uniform 32-bit words.
    Words { seed: u64 },
    /// Bit patterns of `f32` whole numbers, uniform in `-magnitude..=magnitude`, which is at most 2^23: sums and products of
    /// few of them are exact.
    WholeFloats { seed: u64, magnitude: u32 },
    /// The same of `f16`, of 2^10 at most, two to a word, the first in its lower half.
    WholeHalves { seed: u64, magnitude: u32 },
    /// The same of `bfloat16`, of 2^7 at most.
    WholeBfloats { seed: u64, magnitude: u32 },
    /// Bit patterns of `f32` of either sign from 1/8 up to 2, all bits of their mantissas random: sums and products round.
    FullFloats { seed: u64 },
    /// The same of `f16`, two to a word, the first in its lower half.
    FullHalves { seed: u64 },
    /// The same of `bfloat16`.
    FullBfloats { seed: u64 },
    /// Whole numbers as `f64`, of 2^31 - 1 at most, each in two words, the lower half first.
    WholeDoubles { seed: u64, magnitude: u32 },
    /// Keys for a histogram: words whose top bytes are distributed in this way.
    Keys { seed: u64, distribution: Distribution },
    /// Every index once, those of each block in an order of its own.
    Shuffled(Shuffled),
    /// So many words in ascending order, one to 2^32, no two alike, from the whole range: their distances are random.
    Ascending { seed: u64, n: u64 },
    /// So many distinct words, one at least, which come in a random order, each about as often.
    Few { seed: u64, distinct: u32 },
    /// A cycle through nodes.
    Chain(Chain),
    /// Texels of four bytes of a picture, lines of so many, one at least: squares of 32 texels with hard edges between them,
    /// under noise. Of each byte, the upper two bits are the square's and all others are random.
    Picture { seed: u64, width: u32 },
}

/// The indexes from 0 on, blockwise in seeded orders: a block of one leaves them as they are, one of all of them shuffles the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shuffled {
    pub seed: u64,
    /// How many there are, at most 2^32.
    pub n: u64,
    /// Indexes in a block, at least one; the last block may have fewer.
    pub block: u64,
}

impl Shuffled {
    /// The index at a position below `n`.
    pub fn at(self, position: u64) -> u64 {
        let (start, order) = self.block_of(position);
        start + order.at(position - start)
    }

    /// The position of an index below `n`.
    pub fn position(self, index: u64) -> u64 {
        let (start, order) = self.block_of(index);
        start + order.position(index - start)
    }

    /// Where the block begins that holds a position, and with it the index there; and its order.
    fn block_of(self, at: u64) -> (u64, Permutation) {
        let block = at / self.block;
        let start = block * self.block;
        (start, Permutation::new(scramble(self.seed, block), self.block.min(self.n - start)))
    }
}

/// A cycle through nodes in memory, in a random order: each node's first word holds the index of the next node's first word, so
/// that nobody can know where the walk goes before it has been there. All other words are noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    pub seed: u64,
    pub nodes: u64,
    /// Words from one node to the next one in memory. Nodes and stride multiplied are at most 2^32.
    pub stride: u64,
    /// Words from a node's first word to a second one, below the stride: the walk leads over both. 0 for none.
    pub detour: u64,
    /// Lines of 16 words into which a node's first word may fall, each node's into another one, all within the stride; at most
    /// 2^16. With one, all begin where their stride does. Where strides are large powers of two, words at the same place of each
    /// would share one set of a cache, which is soon full.
    pub places: u64,
}

/// Words of the lines that a node's first word may fall into.
const PLACE_WORDS: u64 = 16;

impl Chain {
    /// The index of a node's first word.
    pub fn first_word(self, node: u64) -> u64 {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): neighbours are far apart, and all places come up.
        #[expect(clippy::cast_possible_truncation, reason = "nodes are fewer than 2^32")]
        let hash = u64::from((node as u32).wrapping_mul(2_654_435_761) >> 16);
        node * self.stride + ((hash * self.places) >> 16) * PLACE_WORDS
    }

    /// The index of the word that a walk from the cycle's beginning is at after so many hops.
    pub fn after(self, hops: u64) -> u64 {
        let (visits, is_halfway) = if self.detour == 0 { (hops, false) } else { (hops / 2, hops % 2 == 1) };
        let first = self.first_word(self.order().at(visits % self.nodes));
        first + if is_halfway { self.detour } else { 0 }
    }

    fn order(self) -> Permutation {
        Permutation::new(self.seed, self.nodes)
    }

    /// The first word of the node that follows a node.
    fn next(self, node: u64) -> u64 {
        let order = self.order();
        self.first_word(order.at((order.position(node) + 1) % self.nodes))
    }

    fn word(self, index: u64) -> Option<u64> {
        let node = index / self.stride;
        let offset = index.checked_sub(self.first_word(node)).filter(|_| node < self.nodes)?;
        match offset {
            0 if self.detour > 0 => Some(index + self.detour),
            0 => Some(self.next(node)),
            detour if detour == self.detour => Some(self.next(node)),
            _ => None,
        }
    }
}

/// Texels along a side of the squares of [`Sequence::Picture`].
const PICTURE_SQUARE: u64 = 32;

impl Sequence {
    #[expect(clippy::cast_possible_truncation, reason = "indexes of words are below 2^32, as is said where they are made")]
    pub fn word(self, index: u64) -> u32 {
        match self {
            Self::Words { seed } => random(seed, index),
            Self::WholeFloats { seed, magnitude } => (whole(random(seed, index), magnitude) as f32).to_bits(),
            Self::WholeHalves { .. } => {
                let [low, high] = [2 * index, 2 * index + 1].map(|i| u32::from(self.half(i).to_bits()));
                low | (high << 16)
            }
            Self::WholeBfloats { .. } => {
                let [low, high] = [2 * index, 2 * index + 1].map(|i| u32::from(self.bfloat(i).to_bits()));
                low | (high << 16)
            }
            // Of an exponent the lower two bits are random: it is one of the four up to that of 1.
            Self::FullFloats { seed } => random(seed, index) & 0x81FF_FFFF | 0x3E00_0000,
            Self::FullHalves { seed } => random(seed, index) & 0x8FFF_8FFF | 0x3000_3000,
            Self::FullBfloats { seed } => random(seed, index) & 0x81FF_81FF | 0x3E00_3E00,
            Self::WholeDoubles { .. } => (self.double(index / 2).to_bits() >> (32 * (index % 2))) as u32,
            Self::Keys { seed, distribution } => distribution.word(seed, index),
            Self::Shuffled(shuffled) => shuffled.at(index) as u32,
            // Each is somewhere in a share of its own of the range.
            Self::Ascending { seed, n } => {
                let range = 1 << u32::BITS;
                (index * range / n + u64::from(random(seed, index)) % (range / n)) as u32
            }
            Self::Few { seed, distinct } => random(!seed, u64::from(random(seed, index) % distinct)),
            Self::Chain(chain) => chain.word(index).unwrap_or_else(|| u64::from(random(chain.seed, index))) as u32,
            Self::Picture { seed, width } => {
                let width = u64::from(width);
                let square = (index / width / PICTURE_SQUARE) << 32 | (index % width / PICTURE_SQUARE);
                random(!seed, square) & 0xC0C0_C0C0 | random(seed, index) & 0x3F3F_3F3F
            }
        }
    }

    pub fn float(self, index: u64) -> f32 {
        f32::from_bits(self.word(index))
    }

    /// The `f64` in two words, of the first two, the next two, and so on.
    pub fn double(self, index: u64) -> f64 {
        match self {
            Self::WholeDoubles { seed, magnitude } => f64::from(whole(random(seed, index), magnitude)),
            _ => f64::from_bits(u64::from(self.word(2 * index)) | (u64::from(self.word(2 * index + 1)) << 32)),
        }
    }

    /// The `bfloat16` at an index, two to a word.
    #[expect(clippy::cast_possible_truncation, reason = "a half of a word")]
    pub fn bfloat(self, index: u64) -> bf16 {
        match self {
            Self::WholeBfloats { seed, magnitude } => bf16::from_f32(whole(random(seed, index), magnitude) as f32),
            _ => bf16::from_bits((self.word(index / 2) >> (16 * (index % 2))) as u16),
        }
    }

    /// The `f16` at an index, two to a word.
    #[expect(clippy::cast_possible_truncation, reason = "a half of a word")]
    pub fn half(self, index: u64) -> f16 {
        match self {
            Self::WholeHalves { seed, magnitude } => f16::from_f32(whole(random(seed, index), magnitude) as f32),
            _ => f16::from_bits((self.word(index / 2) >> (16 * (index % 2))) as u16),
        }
    }
}

fn random(seed: u64, index: u64) -> u32 {
    (scramble(seed, index) >> 32) as u32
}

#[expect(clippy::cast_possible_wrap, reason = "magnitudes are below 2^31")]
fn whole(word: u32, magnitude: u32) -> i32 {
    // The difference fits where its first part alone doesn't.
    ((word % (2 * magnitude + 1)) as i32).wrapping_sub(magnitude as i32)
}

/// What a buffer holds before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Contents {
    /// Nothing in particular: the reset program or the pass writes it before anyone reads it.
    Undefined,
    Sequence(Sequence),
    /// These bytes, as many as the resource has.
    Data(Data),
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
    fn whole_numbers_stay_within_their_magnitude() {
        let (seed, magnitude) = (3, 100);
        let floats = Sequence::WholeFloats { seed, magnitude };
        let halves = Sequence::WholeHalves { seed, magnitude };
        let doubles = Sequence::WholeDoubles { seed, magnitude };
        let values: Vec<f64> = (0..1000).map(|i| f64::from(floats.float(i))).collect();
        assert!(values.iter().all(|v| v.abs() <= 100.0 && v.fract() == 0.0));
        assert!(values.iter().any(|v| *v < 0.0) && values.iter().any(|v| *v > 0.0));
        let same = |value: &dyn Fn(u64) -> f64| (0..1000).map(value).eq(values.iter().copied());
        assert!(same(&|i| halves.half(i).to_f64()) && same(&|i| doubles.double(i)));
    }

    #[test]
    fn full_mantissas_take_all_their_bits_within_bounds() {
        let (halves, bfloats) = (Sequence::FullHalves { seed: 3 }, Sequence::FullBfloats { seed: 3 });
        let floats = Sequence::FullFloats { seed: 3 };
        let values: [Vec<f64>; 3] = [
            (0..4096).map(|i| halves.half(i).to_f64()).collect(),
            (0..4096).map(|i| bfloats.bfloat(i).to_f64()).collect(),
            (0..4096).map(|i| floats.float(i).into()).collect(),
        ];
        for values in values {
            assert!(values.iter().all(|value| (0.125..2.0).contains(&value.abs())));
            assert!([-1.0, 1.0].into_iter().all(|sign| values.iter().any(|value| value * sign > 1.75)));
            assert!(values.iter().any(|value| value.abs() < 0.25));
        }
        let seen = |bits: &dyn Fn(u64) -> u16| (0..4096).fold((0, u16::MAX), |(any, all), i| (any | bits(i), all & bits(i)));
        // What is alike in all is the upper part of the exponent.
        assert_eq!(seen(&|i| halves.half(i).to_bits()), (0xBFFF, 0x3000));
        assert_eq!(seen(&|i| bfloats.bfloat(i).to_bits()), (0xBFFF, 0x3E00));
        let seen = (0..4096).fold((0, u32::MAX), |(any, all), i| (any | floats.word(i), all & floats.word(i)));
        assert_eq!(seen, (0xBFFF_FFFF, 0x3E00_0000));
    }

    #[test]
    fn the_largest_magnitudes_have_both_signs() {
        let magnitude = (1 << 31) - 1;
        let doubles = Sequence::WholeDoubles { seed: 3, magnitude };
        let values: Vec<f64> = (0..1000).map(|i| doubles.double(i)).collect();
        let large = f64::from(magnitude) / 2.0;
        assert!(values.iter().all(|value| value.abs() <= f64::from(magnitude)));
        assert!(values.iter().any(|value| *value < -large) && values.iter().any(|value| *value > large));
    }

    #[test]
    fn narrow_and_wide_values_lie_in_words_as_the_device_reads_them() {
        let (seed, magnitude) = (4, 1000);
        let [halves, doubles] = [Sequence::WholeHalves { seed, magnitude }, Sequence::WholeDoubles { seed, magnitude }];
        let bytes = |sequence: Sequence| (0..8).flat_map(|i| sequence.word(i).to_le_bytes()).collect::<Vec<u8>>();
        for (i, pair) in bytes(halves).chunks_exact(2).enumerate() {
            assert_eq!(f16::from_le_bytes([pair[0], pair[1]]), halves.half(i as u64));
        }
        for (i, eight) in bytes(doubles).chunks_exact(8).enumerate() {
            assert_eq!(f64::from_le_bytes(eight.try_into().unwrap()), doubles.double(i as u64));
        }
        let words = Sequence::Words { seed };
        assert_eq!(words.half(3).to_bits(), (words.word(1) >> 16) as u16);
    }

    #[test]
    fn ascending_words_are_in_order_and_fill_the_range() {
        for n in [1_u64, 5, 1000, 1 << 32] {
            let words: Vec<u32> = (n.saturating_sub(1000)..n).map(|i| Sequence::Ascending { seed: 1, n }.word(i)).collect();
            assert!(words.is_sorted_by(|one, next| one < next), "{n}");
        }
        let ends = |seed| [0, 999].map(|i| Sequence::Ascending { seed, n: 1000 }.word(i));
        assert!(ends(1)[0] < 1 << 23 && ends(1)[1] > u32::MAX - (1 << 23) && ends(1) != ends(2));
    }

    #[test]
    fn few_words_are_few_and_all_there() {
        for distinct in [1, 2, 16] {
            let mut counts = std::collections::BTreeMap::new();
            (0..16_000).for_each(|i| *counts.entry(Sequence::Few { seed: 1, distinct }.word(i)).or_insert(0_u32) += 1);
            let usual = 16_000 / distinct;
            assert!(counts.len() == distinct as usize && counts.values().all(|count| count.abs_diff(usual) < usual / 5));
        }
    }

    #[test]
    fn indexes_are_shuffled_within_their_block() {
        for (n, block) in [(100, 1), (100, 16), (100, 100), (100, 64), (7, 1000)] {
            let shuffled = Shuffled { seed: 1, n, block };
            assert!((0..n).all(|i| shuffled.position(shuffled.at(i)) == i && shuffled.at(i) / block == i / block));
        }
        let blocks = Shuffled { seed: 1, n: 128, block: 64 };
        assert!((0..64).any(|i| blocks.at(i) + 64 != blocks.at(i + 64)), "each block has an order of its own");
    }

    #[test]
    fn a_picture_is_squares_under_noise() {
        let picture = Sequence::Picture { seed: 1, width: 100 };
        let upper = |x: u64, y: u64| picture.word(y * 100 + x) & 0xC0C0_C0C0;
        assert!((0..32).all(|at| upper(at, 31 - at) == upper(0, 0)));
        let squares: std::collections::BTreeSet<u32> = (0..16).map(|at| upper(at % 4 * 32, at / 4 * 32)).collect();
        assert!(squares.len() > 12, "{squares:?}");
        let (any, all) = (0..100).fold((0, u32::MAX), |(any, all), at| (any | picture.word(at), all & picture.word(at)));
        assert_eq!((any & 0x3F3F_3F3F, all & 0x3F3F_3F3F), (0x3F3F_3F3F, 0));
    }

    #[test]
    fn a_chain_leads_through_all_its_nodes() {
        for (nodes, stride, detour, places) in
            [(1, 16, 0, 1), (37, 16, 0, 1), (64, 1, 0, 1), (50, 32, 8, 1), (50, 128, 0, 8), (50, 128, 24, 6)]
        {
            let chain = Chain { seed: 5, nodes, stride, detour, places };
            let length = if detour == 0 { nodes } else { 2 * nodes };
            let mut seen = std::collections::BTreeSet::new();
            let mut at = u32::try_from(chain.after(0)).unwrap();
            for hop in 0..length {
                assert_eq!(u64::from(at), chain.after(hop));
                let node = u64::from(at) / stride;
                assert!([0, detour].contains(&(u64::from(at) - chain.first_word(node))) && seen.insert(at));
                at = Sequence::Chain(chain).word(at.into());
            }
            assert_eq!((u64::from(at), seen.len() as u64), (chain.after(0), length), "back at the beginning");
        }
    }

    #[test]
    fn nodes_fall_into_all_their_places_alike() {
        for places in [1, 3, 64, 32_768] {
            let chain = Chain { seed: 5, nodes: 4 * places, stride: 16 * places, detour: 0, places };
            let mut found = std::collections::BTreeMap::new();
            for node in 0..chain.nodes {
                let offset = chain.first_word(node) - node * chain.stride;
                assert!(offset % 16 == 0 && offset < chain.stride);
                *found.entry(offset).or_insert(0) += 1;
            }
            let most = found.values().max().unwrap();
            assert!(found.len() as u64 >= places * 9 / 10 && *most <= 8, "{places}: {} with up to {most}", found.len());
        }
    }
}
