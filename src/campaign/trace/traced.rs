//! What is to be recorded, and what was.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::measure::CaseKey;
use crate::model::{Failure, Status};
use crate::shader::{Padding, Traced};
use crate::subject::KernelSpec;
use crate::trace::hardware::Hardware;
use crate::trace::requests::Lanes;
use crate::trace::sites::Analysis;
use crate::worker::questions::trace::{Dispatched, RecordedPass, Untraced};

/// What is to be recorded.
pub struct Order {
    pub key: CaseKey,
    /// The kernel of the user's; `None` for a case of the catalogue.
    pub subject: Option<KernelSpec>,
    pub groups: Groups,
    pub lanes: Lanes,
    pub hardware: Hardware,
}

/// Which workgroups of each dispatch are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// So many, spread over the dispatch, the first and the last among them.
    Spread(u32),
    All,
    /// These, by their linear numbers.
    Named(Vec<u32>),
}

impl Groups {
    /// Errors: one that is named is in no dispatch, of which the largest has so many.
    pub(super) fn check(&self, count: u32) -> Result<(), Failure> {
        let Self::Named(numbers) = self else { return Ok(()) };
        let beyond = numbers.iter().find(|number| **number >= count);
        let failure =
            |number| Failure::new(Status::Skipped, format!("there is no workgroup {number}: name some below {count}"));
        beyond.map_or(Ok(()), |number| Err(failure(number)))
    }

    /// Their linear numbers in ascending order, of as many as a dispatch has.
    pub(super) fn of(&self, count: u32) -> Vec<u32> {
        match self {
            Self::All => (0..count).collect(),
            Self::Named(numbers) => {
                let mut own: Vec<u32> = numbers.iter().copied().filter(|number| *number < count).collect();
                own.sort_unstable();
                own.dedup();
                own
            }
            Self::Spread(wanted) if *wanted >= count => (0..count).collect(),
            Self::Spread(wanted) => {
                let (last, steps) = (u64::from(count) - 1, u64::from((*wanted).max(2)) - 1);
                let at = |i: u32| u32::try_from(u64::from(i) * last / steps).unwrap_or(u32::MAX);
                let mut own: Vec<u32> = (0..(*wanted).max(1)).map(at).collect();
                own.dedup();
                own
            }
        }
    }
}

/// What was recorded of a case.
pub struct Traces {
    pub untraced: Untraced,
    pub dispatches: Vec<DispatchTrace>,
}

/// What was recorded of one of its dispatches.
pub struct DispatchTrace {
    pub what: Dispatched,
    pub traced: Traced,
    pub analysis: Analysis,
    /// The workgroups that were recorded, and those of which even one took more room than there is.
    pub recorded: Vec<u32>,
    pub too_large: Vec<u32>,
    pub passes: u32,
    pub records: u64,
    /// Whether the first workgroups accessed other things when they were recorded once more.
    pub differs: bool,
    /// Whether outputs stayed what they are without recording, bit by bit.
    pub is_same: bool,
    pub wrong: Option<String>,
    /// How long the recording passes took on the device.
    pub took: Duration,
    pub remedies: Vec<Remedy>,
}

/// Lengths of an array in shared memory that take bank conflicts away: recorded, and not only reckoned.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// The variable, by its index.
    pub root: usize,
    pub padding: Padding,
    /// Bytes of shared memory that it takes more.
    pub more_bytes: u64,
    /// Of each instruction that accesses the array, by its index, its degree with these lengths.
    pub degrees: BTreeMap<usize, f64>,
}

impl Remedy {
    /// As the shader would declare it: `tile[32][33]`.
    pub fn declaration(&self) -> String {
        let lengths: String = self.padding.lengths.iter().map(|length| format!("[{length}]")).collect();
        format!("{}{lengths}", self.padding.name)
    }
}

impl DispatchTrace {
    pub(super) fn new(what: &Dispatched, traced: Traced) -> Self {
        Self {
            what: what.clone(),
            traced,
            analysis: Analysis::default(),
            recorded: Vec::new(),
            too_large: Vec::new(),
            passes: 0,
            records: 0,
            differs: false,
            is_same: true,
            wrong: None,
            took: Duration::ZERO,
            remedies: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, pass: RecordedPass, groups: Vec<u32>, records: u64) {
        self.passes += 1;
        self.records += records;
        self.is_same &= pass.is_same;
        self.wrong = self.wrong.take().or(pass.wrong);
        self.took += pass.took;
        self.recorded.extend(groups);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_spread_with_the_first_and_the_last() {
        assert_eq!(Groups::Spread(4).of(4096), [0, 1365, 2730, 4095]);
        assert_eq!(Groups::Spread(4).of(3), [0, 1, 2]);
        assert_eq!(Groups::Spread(1).of(9), [0]);
        assert_eq!(Groups::Spread(2).of(u32::MAX), [0, u32::MAX - 1]);
        assert_eq!(Groups::All.of(3), [0, 1, 2]);
        assert_eq!(Groups::Named(vec![7, 2, 2, 9]).of(8), [2, 7]);
        assert_eq!(Groups::Spread(4).of(0), [0; 0]);
    }
}
