//! What the shaders compute, one subgroup at a time. Values are held as bits, whatever their type.

use super::number::Number;
use super::table::{Act, Ballot, GroupOperation, Move, Operation, Reduction, Vote};

#[derive(Clone, Copy, Debug)]
pub struct Twin {
    pub operation: &'static Operation,
    pub number: Number,
    /// Lanes of a subgroup, invocations or not.
    pub size: usize,
    pub cluster_size: usize,
    pub chain: u32,
    /// The word that all invocations know.
    pub same: u32,
}

/// The lanes of one subgroup that have an invocation, from 0 on.
struct Lanes<'a> {
    /// What each adds to its results.
    terms: &'a [u32],
    /// The lane that each reads from by `shuffle`.
    picks: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Lane {
    index: usize,
    x: u64,
    pick: usize,
}

enum Results {
    Values(Vec<u64>),
    Votes(Vec<bool>),
}

impl Twin {
    /// The bits of what the lanes of a subgroup end with, whose invocations read these words.
    pub fn run(&self, words: &[u32]) -> Vec<u64> {
        let lanes = Lanes { terms: words, picks: words.iter().map(|word| *word as usize % words.len()).collect() };
        let start = words.iter().map(|word| self.operand_of(*word)).collect();
        (0..self.chain).fold(start, |x: Vec<u64>, number| self.advance(&x, &lanes, number))
    }

    fn advance(&self, x: &[u64], lanes: &Lanes, number: u32) -> Vec<u64> {
        let terms = || lanes.terms.iter();
        match self.results(x, lanes, number) {
            Results::Values(results) => results.iter().zip(terms()).map(|(result, term)| self.stir(*result, *term)).collect(),
            Results::Votes(results) => {
                let term = |(result, term): (&bool, &u32)| if *result { *term } else { !*term };
                results.iter().zip(terms()).map(term).zip(x).map(|(term, x)| self.stir(*x, term)).collect()
            }
        }
    }

    fn results(&self, x: &[u64], lanes: &Lanes, number: u32) -> Results {
        let all = (0..).zip(x).zip(&lanes.picks).map(|((index, &x), &pick)| Lane { index, x, pick });
        match self.operation.act {
            Act::Vote(vote) => Results::Votes(all.map(|lane| self.vote(vote, x, lane, number)).collect()),
            Act::AllEqual => {
                let bounded = |x: &u64| self.number.combine(Reduction::Min, *x, self.number.rare());
                let are_equal = x.iter().zip(x.iter().skip(1)).all(|(one, next)| bounded(one) == bounded(next));
                Results::Votes(vec![are_equal; x.len()])
            }
            Act::Ballot(ballot) => {
                let words: Vec<u32> = x.iter().map(|x| self.number.lower_word(*x)).collect();
                Results::Values((0..).zip(&words).map(|(lane, own)| self.ballot(ballot, &words, lane, *own).into()).collect())
            }
            Act::Move(from) => {
                Results::Values(all.map(|lane| x.get(self.partner(from, lane)).copied().unwrap_or(lane.x)).collect())
            }
            Act::Reduce(operation, reduction) => Results::Values(self.reduce(operation, reduction, x)),
        }
    }

    // ---- operands ---------------------------------------------------------------------------------------------------------

    fn operand_of(&self, word: u32) -> u64 {
        self.number.operand_of(word, self.kept())
    }

    /// The bits of a float that a word tells, of an f64 those of its upper and of its lower word.
    fn kept(&self) -> (u32, u32) {
        use Number::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let multiplies = matches!(self.operation.act, Act::Reduce(_, Reduction::Mul));
        match self.number {
            F16 if multiplies => (0x8000_0000, 0),
            F16 if matches!(self.operation.act, Act::Reduce(..)) => (0x0070_0000, 0),
            F16 => (0x007F_E000, 0),
            F32 if multiplies => (0x8080_0000, 0),
            F32 => (0x007F_FF80, 0),
            F64 if multiplies => (0x8010_0000, 0),
            F64 => (0x000F_FFFF, 0xFFFF_FF00),
            U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64 => (0, 0),
        }
    }

    fn stir(&self, result: u64, term: u32) -> u64 {
        if self.number.is_float() || self.number.words() == 1 {
            self.operand_of(self.number.lower_word(result).wrapping_mul(1_664_525).wrapping_add(term))
        } else {
            result.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(term.into())
        }
    }

    // ---- votes and ballots ------------------------------------------------------------------------------------------------

    fn vote(&self, vote: Vote, x: &[u64], lane: Lane, number: u32) -> bool {
        // Measured in u32 alone.
        match vote {
            Vote::Elect => lane.index == 0,
            Vote::All => x.iter().all(|x| *x >= self.number.rare()),
            Vote::Any => x.iter().any(|x| *x < self.number.rare()),
            Vote::InverseBallot => bit(spread(self.same.wrapping_add(number.wrapping_mul(0x9E37_79B9))), lane.index),
            Vote::BitExtract => bit(spread(self.number.lower_word(lane.x)), lane.pick),
        }
    }

    fn ballot(&self, ballot: Ballot, x: &[u32], lane: usize, word: u32) -> u32 {
        let own = spread(word);
        let last_bit = 1 << (self.size.min(32) - 1);
        match ballot {
            Ballot::Gather => (0..).zip(x).map(|(lane, x)| (x >> 31) << (lane % 32)).fold(0, |gathered, word| gathered ^ word),
            Ballot::Count => (own & below(self.size)).count_ones(),
            Ballot::InclusiveCount => (own & below(lane + 1)).count_ones(),
            Ballot::ExclusiveCount => (own & below(lane)).count_ones(),
            Ballot::FindLsb => (spread(word | last_bit) & below(self.size)).trailing_zeros(),
            Ballot::FindMsb => (spread(word | 1) & below(self.size)).ilog2(),
        }
    }

    // ---- moves ------------------------------------------------------------------------------------------------------------

    /// The lane whose value this one takes; where it has no invocation, it keeps its own.
    fn partner(&self, from: Move, Lane { index: lane, pick, .. }: Lane) -> usize {
        match from {
            Move::Broadcast => 1,
            Move::BroadcastFirst => 0,
            Move::Shuffle => pick,
            Move::ShuffleXor | Move::QuadHorizontal => lane ^ 1,
            Move::ShuffleUp => lane.wrapping_sub(1),
            Move::ShuffleDown => lane + 1,
            Move::Rotate => (lane + 1) % self.size,
            Move::RotateClustered => {
                let first = lane - lane % self.cluster_size;
                first + (lane + 1) % self.cluster_size
            }
            Move::QuadBroadcast(from) => lane - lane % 4 + from,
            Move::QuadVertical => lane ^ 2,
            Move::QuadDiagonal => lane ^ 3,
        }
    }

    // ---- arithmetic -------------------------------------------------------------------------------------------------------

    fn reduce(&self, operation: GroupOperation, reduction: Reduction, x: &[u64]) -> Vec<u64> {
        let number = self.number;
        let operands: Vec<u64> = (0..).zip(x).map(|(lane, x)| self.operand(reduction, *x, lane)).collect();
        let whole = |operands: &[u64]| {
            operands.iter().fold(number.identity(reduction), |sum, own| number.combine(reduction, sum, *own))
        };
        // Before and after each lane in turn.
        let sums = operands.iter().scan(number.identity(reduction), |sum, own| {
            let below = *sum;
            *sum = number.combine(reduction, below, *own);
            Some((below, *sum))
        });
        match operation {
            GroupOperation::Whole => vec![whole(&operands); x.len()],
            GroupOperation::Inclusive => sums.map(|(_, sum)| sum).collect(),
            GroupOperation::Exclusive => sums.map(|(below, _)| below).collect(),
            GroupOperation::Cluster => {
                operands.chunks(self.cluster_size).flat_map(|cluster| vec![whole(cluster); cluster.len()]).collect()
            }
        }
    }

    fn operand(&self, reduction: Reduction, x: u64, lane: u32) -> u64 {
        let mask = self.number.mask();
        let own_bits = (3 << (lane % self.number.width())) & mask;
        match reduction {
            _ if self.number.is_float() => x,
            Reduction::Mul => x | 1,
            Reduction::And => x | (own_bits ^ mask),
            Reduction::Or => x & own_bits,
            Reduction::Add | Reduction::Min | Reduction::Max | Reduction::Xor => x,
        }
    }
}

/// The ballot that the shader's function of the same name makes of a word, lane 0 in the lowest bit.
fn spread(x: u32) -> u128 {
    let [x, not_x] = [x, !x].map(u128::from);
    x | (not_x << 32) | (x << 64) | (not_x << 96)
}

fn bit(ballot: u128, lane: usize) -> bool {
    (ballot >> lane) & 1 != 0
}

/// The bits of the lanes below this one.
fn below(lane: usize) -> u128 {
    if lane >= 128 { u128::MAX } else { (1 << lane) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What three lanes of four hold after one operation, before it is stirred.
    fn results(word: &str, number: Number, x: [u64; 3]) -> [u64; 3] {
        let operation = Operation::of(word).unwrap();
        let twin = Twin { operation, number, size: 4, cluster_size: 2, chain: 1, same: 0b0110 };
        let lanes = Lanes { terms: &[0; 3], picks: vec![2, 0, 0] };
        match twin.results(&x, &lanes, 0) {
            Results::Values(results) => results.try_into().unwrap(),
            Results::Votes(results) => std::array::from_fn(|lane| results[lane].into()),
        }
    }

    #[test]
    fn votes_and_ballots_are_those_of_the_specification() {
        let of = |word, x| results(word, Number::U32, x);
        let (no, yes) = (1, 1 << 31);
        assert_eq!(of("elect", [0; 3]), [1, 0, 0]);
        assert_eq!([of("all", [yes; 3]), of("all", [yes, no, yes]), of("any", [yes; 3])], [[1; 3], [0; 3], [0; 3]]);
        assert_eq!([of("all_equal", [yes; 3]), of("all_equal", [yes, yes, no])], [[1; 3], [0; 3]]);
        assert_eq!([of("ballot", [yes, no, yes]), of("inverse_ballot", [0; 3])], [[0b101; 3], [0, 1, 1]]);
        assert_eq!(of("ballot_bit_extract", [0b100, 0b100, 0b101]), [1, 0, 1]);
        assert_eq!(of("ballot_bit_count", [0b1_1111, 0b1000, 0]), [4, 1, 0]);
        assert_eq!(of("ballot_inclusive_bit_count", [0b1111; 3]), [1, 2, 3]);
        assert_eq!(of("ballot_exclusive_bit_count", [0b1111; 3]), [0, 1, 2]);
        assert_eq!(of("ballot_find_lsb", [0, 0b0100, 0b0110]), [3, 2, 1]);
        assert_eq!(of("ballot_find_msb", [0, 0b0100, 0b1_0011]), [0, 2, 1]);
    }

    #[test]
    fn moves_keep_the_own_value_where_no_lane_is_to_read_from() {
        let of = |word| results(word, Number::I32, [10, 11, 12]);
        assert_eq!([of("broadcast"), of("broadcast_first")], [[11; 3], [10; 3]]);
        assert_eq!([of("shuffle"), of("shuffle_xor")], [[12, 10, 10], [11, 10, 12]]);
        assert_eq!([of("shuffle_up"), of("shuffle_down")], [[10, 10, 11], [11, 12, 12]]);
        assert_eq!([of("rotate"), of("rotate_clustered")], [[11, 12, 12], [11, 10, 12]]);
        assert_eq!(
            [of("quad_broadcast_0"), of("quad_broadcast_3"), of("quad_swap_horizontal")],
            [[10; 3], [10, 11, 12], [11, 10, 12]]
        );
        assert_eq!([of("quad_swap_vertical"), of("quad_swap_diagonal")], [[12, 11, 10], [10, 12, 11]]);
    }

    #[test]
    fn arithmetic_is_that_of_its_type() {
        let minus = u64::from(u32::MAX);
        assert_eq!(results("add", Number::U32, [1, 2, minus]), [2; 3]);
        assert_eq!(results("inclusive_add", Number::I32, [1, 2, 3]), [1, 3, 6]);
        assert_eq!(results("exclusive_mul", Number::U32, [3, 5, 7]), [1, 3, 15]);
        assert_eq!(results("clustered_xor", Number::U32, [1, 3, 5]), [2, 2, 5]);
        assert_eq!([Number::U32, Number::I32].map(|number| results("min", number, [1, minus, 2])), [[1; 3], [minus; 3]]);
        assert_eq!([Number::U32, Number::I32].map(|number| results("exclusive_max", number, [1, 1, 1])[0]), [0, 1 << 31]);
        let floats = |values: [f32; 3]| values.map(|value| u64::from(value.to_bits()));
        assert_eq!(results("inclusive_mul", Number::F32, floats([0.5, -1.0, 2.0])), floats([0.5, -0.5, -1.0]));
        assert_eq!(results("exclusive_min", Number::F32, floats([2.0, -1.0, 1.0])), floats([f32::INFINITY, 2.0, -1.0]));
        // Each lane tells the bits of its number and of the next.
        assert_eq!(results("or", Number::U32, [0b1101, 0b0010, 0]), [0b0011; 3]);
        assert_eq!(results("and", Number::U32, [0b1101, minus, minus]), [minus - 2; 3]);
    }

    #[test]
    fn bytes_and_wide_numbers_wrap_at_their_width() {
        assert_eq!(results("inclusive_add", Number::U8, [200, 100, 1]), [200, 44, 45]);
        assert_eq!([Number::U8, Number::I8].map(|number| results("min", number, [1, 0x80, 2])[0]), [1, 0x80]);
        assert_eq!(results("exclusive_min", Number::I16, [3, 2, 1]), [0x7FFF, 3, 2]);
        assert_eq!(results("mul", Number::I64, [u64::MAX, 3, 5])[0], 0_u64.wrapping_sub(15));
        assert_eq!(results("and", Number::U8, [0, 0xFF, 0xFF])[0], 0xFC);
        let halves = [1.5, 1.25, 1.75].map(|value| u64::from(half::f16::from_f32(value).to_bits()));
        assert_eq!(results("add", Number::F16, halves)[0], u64::from(half::f16::from_f32(4.5).to_bits()));
        assert_eq!(results("inclusive_add", Number::F64, [0.5, 0.25, 1.0].map(f64::to_bits))[2], 1.75_f64.to_bits());
    }

    #[test]
    fn sums_and_products_of_the_largest_subgroup_are_exact() {
        let twin = |word, number| {
            let operation = Operation::of(word).unwrap();
            Twin { operation, number, size: 128, cluster_size: 4, chain: 1, same: 0 }
        };
        let largest = |number| twin("add", number).operand_of(u32::MAX);
        let [f16, f32] =
            [half::f16::from_bits(u16::try_from(largest(Number::F16)).unwrap()).to_f64(), low_float(largest(Number::F32))];
        let f64 = f64::from_bits(largest(Number::F64) | 0xFFFF_FF00);
        assert_eq!([f16, f32, f64], [2.0 - 2.0_f64.powi(-3), 2.0 - 2.0_f64.powi(-16), 2.0 - 2.0_f64.powi(-44)]);
        let halves = (1..=128).fold(half::f16::ZERO, |sum, _| sum + half::f16::from_f64(f16));
        assert_eq!(halves.to_f64(), 256.0 - 128.0 * 2.0_f64.powi(-3));
        #[expect(clippy::cast_possible_truncation, reason = "it was one")]
        let floats = (1..=128).fold(0.0, |sum, _| sum + f32 as f32);
        assert_eq!(floats, 256.0 - 128.0 * 2.0_f32.powi(-16));
        assert_eq!((1..=128).fold(0.0, |sum, _| sum + f64), 256.0 - 128.0 * 2.0_f64.powi(-44));
        let factor = |word| low_float(twin("mul", Number::F32).operand_of(word));
        assert_eq!([0, 1 << 23, 1 << 31, u32::MAX].map(factor), [1.0, 0.5, -1.0, -0.5]);
        let factor = |word| f64::from_bits(twin("mul", Number::F64).operand_of(word));
        assert_eq!([0, 1 << 20, 1 << 31, u32::MAX].map(factor), [1.0, 0.5, -1.0, -0.5]);
        let signs = [0, u32::MAX].map(|word| twin("mul", Number::F16).operand_of(word));
        assert_eq!(signs, [0x3C00, 0xBC00]);
    }

    fn low_float(bits: u64) -> f64 {
        f32::from_bits(u32::try_from(bits).unwrap()).into()
    }
}
