//! What the shaders compute, one subgroup at a time. Values are held as bits, whatever their type.

use super::table::{Act, Ballot, Fold, Move, Operation, Reach, Vote};

/// What the operands are: the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `uint`
    U32,
    /// `int`
    I32,
    /// `float`
    F32,
}

/// A chain of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    pub operation: &'static Operation,
    pub number: Number,
    /// Lanes of a subgroup, invocations or not.
    pub size: usize,
    pub cluster_size: usize,
    /// Operations of one invocation.
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

/// The results of one operation in all lanes.
enum Results {
    Values(Vec<u32>),
    Votes(Vec<bool>),
}

impl Twin {
    /// What the lanes of a subgroup write, whose invocations read these words.
    pub fn run(&self, words: &[u32]) -> Vec<u32> {
        let lanes = Lanes { terms: words, picks: words.iter().map(|word| *word as usize % words.len()).collect() };
        let start = words.iter().map(|word| self.operand_of(*word)).collect();
        (0..self.chain).fold(start, |x: Vec<u32>, number| self.advance(&x, &lanes, number))
    }

    fn advance(&self, x: &[u32], lanes: &Lanes, number: u32) -> Vec<u32> {
        let terms = || lanes.terms.iter();
        match self.results(x, lanes, number) {
            Results::Values(results) => results.iter().zip(terms()).map(|(result, term)| self.stir(*result, *term)).collect(),
            Results::Votes(results) => {
                let term = |(result, term): (&bool, &u32)| if *result { *term } else { !*term };
                results.iter().zip(terms()).map(term).zip(x).map(|(term, x)| self.stir(*x, term)).collect()
            }
        }
    }

    fn results(&self, x: &[u32], lanes: &Lanes, number: u32) -> Results {
        let all = 0..x.len();
        match self.operation.act {
            Act::Vote(vote) => Results::Votes(all.map(|lane| self.vote(vote, x, lanes, lane, number)).collect()),
            Act::AllEqual => {
                let bounded = |x: &u32| self.combine(Fold::Min, *x, self.rare());
                Results::Votes(vec![x.iter().all(|other| bounded(other) == bounded(&x[0])); x.len()])
            }
            Act::Ballot(ballot) => Results::Values(all.map(|lane| self.ballot(ballot, x, lane)).collect()),
            Act::Move(from) => {
                let given = |lane| x.get(self.partner(from, lanes, lane)).copied().unwrap_or(x[lane]);
                Results::Values(all.map(given).collect())
            }
            Act::Fold(reach, fold) => Results::Values(self.fold(reach, fold, x)),
        }
    }

    // ---- operands ---------------------------------------------------------------------------------------------------------

    /// A word as an operand.
    fn operand_of(&self, word: u32) -> u32 {
        let kept = match self.operation.act {
            Act::Fold(_, Fold::Mul) => 0x8080_0000,
            _ => 0x007F_FF80,
        };
        match self.number {
            Number::F32 => (word & kept) ^ 1.0_f32.to_bits(),
            _ => word,
        }
    }

    fn stir(&self, result: u32, term: u32) -> u32 {
        self.operand_of(result.wrapping_mul(1_664_525).wrapping_add(term))
    }

    /// What one operand in 64 lies below.
    fn rare(&self) -> u32 {
        match self.number {
            Number::U32 => 0x0400_0000,
            Number::I32 => unsigned(-0x7C00_0000),
            Number::F32 => 1.015_625_f32.to_bits(),
        }
    }

    // ---- votes and ballots ------------------------------------------------------------------------------------------------

    fn vote(&self, vote: Vote, x: &[u32], lanes: &Lanes, lane: usize, number: u32) -> bool {
        match vote {
            Vote::Elect => lane == 0,
            Vote::All => x.iter().all(|x| *x >= self.rare()),
            Vote::Any => x.iter().any(|x| *x < self.rare()),
            Vote::InverseBallot => bit(spread(self.same.wrapping_add(number.wrapping_mul(0x9E37_79B9))), lane),
            Vote::BitExtract => bit(spread(x[lane]), lanes.picks[lane]),
        }
    }

    fn ballot(&self, ballot: Ballot, x: &[u32], lane: usize) -> u32 {
        let own = spread(x[lane]);
        let last_bit = 1 << (self.size.min(32) - 1);
        match ballot {
            Ballot::Gather => (0..).zip(x).map(|(lane, x)| (x >> 31) << (lane % 32)).fold(0, |gathered, word| gathered ^ word),
            Ballot::Count => (own & below(self.size)).count_ones(),
            Ballot::InclusiveCount => (own & below(lane + 1)).count_ones(),
            Ballot::ExclusiveCount => (own & below(lane)).count_ones(),
            Ballot::FindLsb => (spread(x[lane] | last_bit) & below(self.size)).trailing_zeros(),
            Ballot::FindMsb => (spread(x[lane] | 1) & below(self.size)).ilog2(),
        }
    }

    // ---- moves ------------------------------------------------------------------------------------------------------------

    /// The lane whose value this one takes; where it has no invocation, it keeps its own.
    fn partner(&self, from: Move, lanes: &Lanes, lane: usize) -> usize {
        match from {
            Move::Broadcast => 1,
            Move::BroadcastFirst => 0,
            Move::Shuffle => lanes.picks[lane],
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

    fn fold(&self, reach: Reach, fold: Fold, x: &[u32]) -> Vec<u32> {
        let operands: Vec<u32> = (0..).zip(x).map(|(lane, x)| self.operand(fold, *x, lane)).collect();
        let whole = |operands: &[u32]| operands.iter().fold(self.identity(fold), |sum, own| self.combine(fold, sum, *own));
        // Before and after each lane in turn.
        let sums = operands.iter().scan(self.identity(fold), |sum, own| {
            let below = *sum;
            *sum = self.combine(fold, below, *own);
            Some((below, *sum))
        });
        match reach {
            Reach::Whole => vec![whole(&operands); x.len()],
            Reach::Inclusive => sums.map(|(_, sum)| sum).collect(),
            Reach::Exclusive => sums.map(|(below, _)| below).collect(),
            Reach::Cluster => {
                operands.chunks(self.cluster_size).flat_map(|cluster| vec![whole(cluster); cluster.len()]).collect()
            }
        }
    }

    fn operand(&self, fold: Fold, x: u32, lane: u32) -> u32 {
        let own_bits = 3 << (lane % 32);
        match (self.number, fold) {
            (Number::F32, _) => x,
            (_, Fold::Mul) => x | 1,
            (_, Fold::And) => x | !own_bits,
            (_, Fold::Or) => x & own_bits,
            _ => x,
        }
    }

    fn identity(&self, fold: Fold) -> u32 {
        match (fold, self.number) {
            (Fold::Add | Fold::Or | Fold::Xor, _) => 0,
            (Fold::Mul, Number::F32) => 1.0_f32.to_bits(),
            (Fold::Mul, _) => 1,
            (Fold::And, _) | (Fold::Min, Number::U32) => u32::MAX,
            (Fold::Max, Number::U32) => 0,
            (Fold::Min, Number::I32) => unsigned(i32::MAX),
            (Fold::Max, Number::I32) => unsigned(i32::MIN),
            (Fold::Min, Number::F32) => f32::INFINITY.to_bits(),
            (Fold::Max, Number::F32) => f32::NEG_INFINITY.to_bits(),
        }
    }

    /// One value of two.
    fn combine(&self, fold: Fold, a: u32, b: u32) -> u32 {
        let floats = [a, b].map(f32::from_bits);
        let signed = [a, b].map(|bits| i32::from_ne_bytes(bits.to_ne_bytes()));
        match (fold, self.number) {
            (Fold::Add, Number::F32) => (floats[0] + floats[1]).to_bits(),
            (Fold::Mul, Number::F32) => (floats[0] * floats[1]).to_bits(),
            (Fold::Min, Number::F32) => floats[0].min(floats[1]).to_bits(),
            (Fold::Max, Number::F32) => floats[0].max(floats[1]).to_bits(),
            (Fold::Min, Number::I32) => unsigned(signed[0].min(signed[1])),
            (Fold::Max, Number::I32) => unsigned(signed[0].max(signed[1])),
            (Fold::Min, Number::U32) => a.min(b),
            (Fold::Max, Number::U32) => a.max(b),
            (Fold::Add, _) => a.wrapping_add(b),
            (Fold::Mul, _) => a.wrapping_mul(b),
            (Fold::And, _) => a & b,
            (Fold::Or, _) => a | b,
            (Fold::Xor, _) => a ^ b,
        }
    }
}

/// The ballot that the shader's function of the same name makes of a word, lane 0 in the lowest bit.
fn spread(x: u32) -> u128 {
    let [x, not_x] = [x, !x].map(u128::from);
    x | (not_x << 32) | (x << 64) | (not_x << 96)
}

fn unsigned(value: i32) -> u32 {
    u32::from_ne_bytes(value.to_ne_bytes())
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
    fn results(word: &str, number: Number, x: [u32; 3]) -> [u32; 3] {
        let operation = Operation::of(word);
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
        let minus = u32::MAX;
        assert_eq!(results("add", Number::U32, [1, 2, minus]), [2; 3]);
        assert_eq!(results("inclusive_add", Number::I32, [1, 2, 3]), [1, 3, 6]);
        assert_eq!(results("exclusive_mul", Number::U32, [3, 5, 7]), [1, 3, 15]);
        assert_eq!(results("clustered_xor", Number::U32, [1, 3, 5]), [2, 2, 5]);
        assert_eq!([Number::U32, Number::I32].map(|number| results("min", number, [1, minus, 2])), [[1; 3], [minus; 3]]);
        assert_eq!([Number::U32, Number::I32].map(|number| results("exclusive_max", number, [1, 1, 1])[0]), [0, 1 << 31]);
        let floats = |values: [f32; 3]| values.map(f32::to_bits);
        assert_eq!(results("inclusive_mul", Number::F32, floats([0.5, -1.0, 2.0])), floats([0.5, -0.5, -1.0]));
        assert_eq!(results("exclusive_min", Number::F32, floats([2.0, -1.0, 1.0])), floats([f32::INFINITY, 2.0, -1.0]));
        // Each lane tells the bits of its number and of the next.
        assert_eq!(results("or", Number::U32, [0b1101, 0b0010, 0]), [0b0011; 3]);
        assert_eq!(results("and", Number::U32, [0b1101, minus, minus]), [minus - 2; 3]);
    }

    #[test]
    fn sums_and_products_of_the_largest_subgroup_are_exact() {
        let twin =
            |word| Twin { operation: Operation::of(word), number: Number::F32, size: 128, cluster_size: 4, chain: 1, same: 0 };
        let largest = f32::from_bits(twin("add").operand_of(u32::MAX));
        assert_eq!(f64::from(largest), 2.0 - 2.0_f64.powi(-16));
        assert_eq!((1..=128).fold(0.0, |sum, _| sum + largest), 256.0 - 128.0 * 2.0_f32.powi(-16));
        let factors: Vec<f32> = [0, 1 << 23, 1 << 31, u32::MAX].map(|word| f32::from_bits(twin("mul").operand_of(word))).into();
        assert_eq!(factors, [1.0, 0.5, -1.0, -0.5]);
    }
}
