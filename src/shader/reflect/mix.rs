//! The static instruction mix: how many instructions of each kind a shader has, by loop depth.

use serde::{Serialize, Serializer};

use super::kinds::InstructionKind;

/// The loop depth at which all deeper instructions count as well. No shader comes near; it bounds what a malformed module costs.
pub(super) const DEEPEST: usize = 63;

/// How many instructions of each kind an entry point has, with all functions that it calls.
///
/// The counts are those of the module, before a driver optimizes: they say what a shader asks for, not what is executed. A
/// function's instructions count once for each call, as if it stood there; an instruction in a loop counts once, at the loop's
/// depth. What control flow can't reach doesn't count, such as the branch of an `if` that specialization constants rule out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InstructionMix {
    pub total: InstructionCounts,
    /// The same by loop depth: first what stands in no loop, then what stands in one, and so on to the innermost. A loop's
    /// condition stands in the loop. In a function called from within a loop the depths begin at the call's. What lies deeper
    /// than 63 loops counts at 63.
    pub by_depth: Vec<InstructionCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts([u64; InstructionKind::COUNT]);

impl InstructionCounts {
    /// Instructions of one kind. Counts stop at the largest number.
    pub fn get(&self, kind: InstructionKind) -> u64 {
        self.0[kind as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (InstructionKind, u64)> + '_ {
        InstructionKind::all().zip(self.0)
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub(super) fn count(&mut self, kind: InstructionKind) {
        self.0[kind as usize] += 1;
    }

    fn add(&mut self, others: &Self, times: u64) {
        for (count, other) in self.0.iter_mut().zip(others.0) {
            *count = count.saturating_add(other.saturating_mul(times));
        }
    }
}

impl Serialize for InstructionCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl InstructionMix {
    pub(super) fn add(&mut self, depth: usize, counts: &InstructionCounts, times: u64) {
        if self.by_depth.len() <= depth {
            self.by_depth.resize(depth + 1, InstructionCounts::default());
        }
        self.by_depth[depth].add(counts, times);
        self.total.add(counts, times);
    }
}
