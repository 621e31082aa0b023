//! The operations: what each is called, which class it belongs to, what it does.

use crate::experiments::common::choices::choices;
use crate::model::SubgroupClass;

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub word: &'static str,
    pub class: SubgroupClass,
    pub act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A yes or no, of a `bool` or of a ballot, which has a bit for each lane.
    Vote(Vote),
    /// A ballot, or a word made of one.
    Ballot(Ballot),
    AllEqual,
    Move(Move),
    Reduce(GroupOperation, Reduction),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// Whether it is the first lane.
    Elect,
    All,
    Any,
    /// The own bit of a ballot that all lanes have.
    InverseBallot,
    BitExtract,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot {
    Gather,
    Count,
    /// Those up to the own lane's.
    InclusiveCount,
    /// Those below the own lane's.
    ExclusiveCount,
    FindLsb,
    FindMsb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Lane 1, a constant.
    Broadcast,
    BroadcastFirst,
    /// Any lane, told by data.
    Shuffle,
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    /// The lane above, of the last the first.
    Rotate,
    RotateClustered,
    /// This lane of the own quad.
    QuadBroadcast(usize),
    /// The lane beside it in its quad.
    QuadHorizontal,
    /// The lane below or above it in its quad.
    QuadVertical,
    /// The lane opposite in its quad.
    QuadDiagonal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOperation {
    Whole,
    /// Up to the own one.
    Inclusive,
    Exclusive,
    Cluster,
}

choices! {
    /// How two values become one.
    pub enum Reduction { Add = "add", Mul = "mul", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor" }
}

/// What stands for the class of one vendor, which is named and not measured.
pub const PARTITIONED: &str = "partitioned";

/// Declares the table; an operation's place among those of its class is what the shader's `OP` says.
macro_rules! operations {
    ($($class:ident { $($word:literal: $act:expr;)+ })+) => {
        pub const OPERATIONS: &[Operation] =
            &[$($(Operation { word: $word, class: SubgroupClass::$class, act: $act }),+),+];

        pub const WORDS: &[&str] = &[$($($word),+),+, PARTITIONED];
    };
}

operations! {
    Basic {
        "elect": Act::Vote(Vote::Elect);
    }
    Vote {
        "all": Act::Vote(Vote::All);
        "any": Act::Vote(Vote::Any);
        "all_equal": Act::AllEqual;
    }
    Ballot {
        "ballot": Act::Ballot(Ballot::Gather);
        "inverse_ballot": Act::Vote(Vote::InverseBallot);
        "ballot_bit_extract": Act::Vote(Vote::BitExtract);
        "ballot_bit_count": Act::Ballot(Ballot::Count);
        "ballot_inclusive_bit_count": Act::Ballot(Ballot::InclusiveCount);
        "ballot_exclusive_bit_count": Act::Ballot(Ballot::ExclusiveCount);
        "ballot_find_lsb": Act::Ballot(Ballot::FindLsb);
        "ballot_find_msb": Act::Ballot(Ballot::FindMsb);
        "broadcast": Act::Move(Move::Broadcast);
        "broadcast_first": Act::Move(Move::BroadcastFirst);
    }
    Shuffle {
        "shuffle": Act::Move(Move::Shuffle);
        "shuffle_xor": Act::Move(Move::ShuffleXor);
    }
    ShuffleRelative {
        "shuffle_up": Act::Move(Move::ShuffleUp);
        "shuffle_down": Act::Move(Move::ShuffleDown);
    }
    Rotate {
        "rotate": Act::Move(Move::Rotate);
    }
    RotateClustered {
        "rotate_clustered": Act::Move(Move::RotateClustered);
    }
    Arithmetic {
        "add": Act::Reduce(GroupOperation::Whole, Reduction::Add);
        "mul": Act::Reduce(GroupOperation::Whole, Reduction::Mul);
        "min": Act::Reduce(GroupOperation::Whole, Reduction::Min);
        "max": Act::Reduce(GroupOperation::Whole, Reduction::Max);
        "and": Act::Reduce(GroupOperation::Whole, Reduction::And);
        "or": Act::Reduce(GroupOperation::Whole, Reduction::Or);
        "xor": Act::Reduce(GroupOperation::Whole, Reduction::Xor);
        "inclusive_add": Act::Reduce(GroupOperation::Inclusive, Reduction::Add);
        "inclusive_mul": Act::Reduce(GroupOperation::Inclusive, Reduction::Mul);
        "inclusive_min": Act::Reduce(GroupOperation::Inclusive, Reduction::Min);
        "inclusive_max": Act::Reduce(GroupOperation::Inclusive, Reduction::Max);
        "inclusive_and": Act::Reduce(GroupOperation::Inclusive, Reduction::And);
        "inclusive_or": Act::Reduce(GroupOperation::Inclusive, Reduction::Or);
        "inclusive_xor": Act::Reduce(GroupOperation::Inclusive, Reduction::Xor);
        "exclusive_add": Act::Reduce(GroupOperation::Exclusive, Reduction::Add);
        "exclusive_mul": Act::Reduce(GroupOperation::Exclusive, Reduction::Mul);
        "exclusive_min": Act::Reduce(GroupOperation::Exclusive, Reduction::Min);
        "exclusive_max": Act::Reduce(GroupOperation::Exclusive, Reduction::Max);
        "exclusive_and": Act::Reduce(GroupOperation::Exclusive, Reduction::And);
        "exclusive_or": Act::Reduce(GroupOperation::Exclusive, Reduction::Or);
        "exclusive_xor": Act::Reduce(GroupOperation::Exclusive, Reduction::Xor);
    }
    Clustered {
        "clustered_add": Act::Reduce(GroupOperation::Cluster, Reduction::Add);
        "clustered_mul": Act::Reduce(GroupOperation::Cluster, Reduction::Mul);
        "clustered_min": Act::Reduce(GroupOperation::Cluster, Reduction::Min);
        "clustered_max": Act::Reduce(GroupOperation::Cluster, Reduction::Max);
        "clustered_and": Act::Reduce(GroupOperation::Cluster, Reduction::And);
        "clustered_or": Act::Reduce(GroupOperation::Cluster, Reduction::Or);
        "clustered_xor": Act::Reduce(GroupOperation::Cluster, Reduction::Xor);
    }
    Quad {
        "quad_broadcast_0": Act::Move(Move::QuadBroadcast(0));
        "quad_broadcast_1": Act::Move(Move::QuadBroadcast(1));
        "quad_broadcast_2": Act::Move(Move::QuadBroadcast(2));
        "quad_broadcast_3": Act::Move(Move::QuadBroadcast(3));
        "quad_swap_horizontal": Act::Move(Move::QuadHorizontal);
        "quad_swap_vertical": Act::Move(Move::QuadVertical);
        "quad_swap_diagonal": Act::Move(Move::QuadDiagonal);
    }
}

impl Operation {
    /// The operation of this word; of the axis's words, [`PARTITIONED`] alone has none.
    pub fn of(word: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.word == word)
    }

    /// Its place among those of its class.
    pub fn code(&self) -> u32 {
        let of_class = OPERATIONS.iter().filter(|other| other.class == self.class);
        (0..).zip(of_class).find(|(_, other)| other.word == self.word).map_or(0, |(code, _)| code)
    }

    /// Its shader, one for each capability that a module declares.
    pub fn shader(&self) -> &'static str {
        match self.class {
            SubgroupClass::Basic => "subgroup/ops_basic.comp",
            SubgroupClass::Vote => "subgroup/ops_vote.comp",
            SubgroupClass::Ballot => "subgroup/ops_ballot.comp",
            SubgroupClass::Shuffle => "subgroup/ops_shuffle.comp",
            SubgroupClass::ShuffleRelative => "subgroup/ops_shuffle_relative.comp",
            SubgroupClass::Rotate | SubgroupClass::RotateClustered => "subgroup/ops_rotate.comp",
            SubgroupClass::Arithmetic => "subgroup/ops_arithmetic.comp",
            SubgroupClass::Clustered => "subgroup/ops_clustered.comp",
            SubgroupClass::Quad => "subgroup/ops_quad.comp",
        }
    }

    /// Whether its operands have the variant's type. Others take no value or a `bool`, whatever the variant.
    pub fn has_type(&self) -> bool {
        !matches!(self.act, Act::Vote(_) | Act::Ballot(_))
    }

    /// Whether it works on bits, which floats don't offer.
    pub fn is_bitwise(&self) -> bool {
        matches!(self.act, Act::Reduce(_, Reduction::And | Reduction::Or | Reduction::Xor))
    }

    pub fn is_clustered(&self) -> bool {
        matches!(self.act, Act::Reduce(GroupOperation::Cluster, _) | Act::Move(Move::RotateClustered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_through_each_class() {
        let code = |word| Operation::of(word).unwrap().code();
        assert_eq!(["elect", "all", "all_equal", "broadcast_first", "quad_swap_diagonal"].map(code), [0, 0, 2, 9, 6]);
        // The shader takes the code apart into the reduction and the group operation.
        assert_eq!(["add", "xor", "inclusive_add", "exclusive_mul", "clustered_mul"].map(code), [0, 6, 7, 15, 1]);
    }
}
