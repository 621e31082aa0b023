//! What is to be recorded, and what was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::measure::CaseKey;
use crate::model::{Failure, Limits, Point, Status};
use crate::shader::{AddedBarrier, Alteration, Home, Overrun, Padding, SourceLine, Space, Touched};
use crate::subject::KernelSpec;
use crate::trace::check::{Cause, Class, Findings};
use crate::trace::hardware::Hardware;
use crate::trace::requests::Lanes;
use crate::trace::sites::Analysis;
use crate::worker::questions::trace::{CountedOperations, Difference, Dispatched, Feasible, RecordedPass, Untraced};

/// What is to be recorded.
pub struct Order {
    pub key: CaseKey,
    /// The kernel of the user's; `None` for a case of the catalogue.
    pub subject: Option<KernelSpec>,
    pub groups: Groups,
    pub lanes: Lanes,
    pub hardware: Hardware,
    /// Whether to look for what invocations do to one another, and not for what accesses cost.
    pub check: bool,
    /// Whether to look for barriers that would order what isn't ordered, and where a case hangs that doesn't end.
    pub explains: bool,
    /// Whether to look as well which bytes of its buffers all workgroups touch, and how the case may be otherwise.
    pub tries: Option<Tries>,
}

/// What concerns all of a kernel, and what concerns single lines of it.
#[derive(Clone, Debug)]
pub struct Scoped<T> {
    pub whole: Vec<T>,
    pub lines: Vec<T>,
}

impl<T> Default for Scoped<T> {
    fn default() -> Self {
        Self { whole: Vec::new(), lines: Vec::new() }
    }
}

/// How a case may be otherwise.
#[derive(Clone)]
pub struct Tries {
    /// What is worth a try, by what was recorded.
    pub alterations: fn(&[DispatchTrace], &Limits) -> Scoped<Alteration>,
    pub limits: Limits,
    /// Other values on its axes.
    pub points: Vec<Point>,
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

/// The golden ratio, of 2^64.
const UNEVEN: u64 = 0x9e37_79b9_7f4a_7c15;

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
                let wanted = (*wanted).max(1);
                // One in each part, at an uneven place: even steps may come to the same place in each row of workgroups.
                let parts = u64::from(wanted.max(3)) - 2;
                let start = |part: u64| 1 + part * (u64::from(count) - 2) / parts;
                let within = |part: u64| {
                    let (start, end) = (start(part), start(part + 1));
                    start + ((part + 1).wrapping_mul(UNEVEN) >> 32) % (end - start).max(1)
                };
                let middle = (0..u64::from(wanted.saturating_sub(2))).map(within);
                let all = [0].into_iter().chain(middle).chain((wanted > 1).then(|| u64::from(count) - 1));
                let mut own: Vec<u32> = all.filter_map(|group| u32::try_from(group).ok()).collect();
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
    /// Of a check, what is beyond an end in any of the workgroups; nothing where that couldn't be looked at.
    pub overruns: Option<Vec<Overrun>>,
    /// Whether it can be otherwise, where that was asked for.
    pub alterations: Scoped<(Alteration, Feasible)>,
    pub points: Vec<(Point, Feasible)>,
}

impl Traces {
    /// What is beyond an end at lines of which no workgroup that was recorded tells that.
    pub fn other_overruns(&self) -> Vec<&Overrun> {
        let is_bounds = |cause: &&Cause| cause.class == Class::Bounds;
        let of = |dispatch: &DispatchTrace| -> Vec<(Home, SourceLine)> {
            let causes = dispatch.checked.iter().flat_map(|checked| checked.findings.all.keys()).filter(is_bounds);
            let root = |cause: &Cause| dispatch.what.traced.roots.get(cause.root?).map(|root| root.space);
            let line = |cause: &Cause| dispatch.what.traced.sites[cause.first].line.clone();
            causes.filter_map(|cause| Some((root(cause).and_then(home)?, line(cause)?))).collect()
        };
        let known: Vec<(Home, SourceLine)> = self.dispatches.iter().flat_map(of).collect();
        let is_known =
            |overrun: &Overrun, line: &SourceLine| known.iter().any(|(home, at)| *home == overrun.array.home && at == line);
        let is_other =
            |overrun: &&Overrun| overrun.lines.is_empty() || overrun.lines.iter().any(|line| !is_known(overrun, line));
        self.overruns.iter().flatten().filter(is_other).collect()
    }
}

/// What was recorded of one of its dispatches.
pub struct DispatchTrace {
    pub what: Dispatched,
    pub analysis: Analysis,
    /// The workgroups that were recorded whole, and those of which one subgroup took more room than there is.
    pub recorded: BTreeSet<u32>,
    pub too_large: BTreeSet<u32>,
    pub passes: u32,
    pub records: u64,
    /// Whether the first workgroups accessed other things when they were recorded once more.
    pub differs: bool,
    /// In what outputs differ from those of a pass that doesn't record.
    pub difference: Option<Difference>,
    pub wrong: Option<String>,
    /// How long the recording passes took on the device.
    pub took: Duration,
    pub remedies: Vec<Remedy>,
    /// What arithmetic all workgroups do, where that was counted.
    pub operations: Option<CountedOperations>,
    /// Which bytes of its buffers all workgroups touch, where that was marked.
    pub touched: Option<Touched>,
    /// What was looked for, where that was asked for.
    pub checked: Option<Checked>,
}

/// What the invocations of workgroups did to one another.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    pub findings: Findings,
    /// Accesses that were recorded, and those of them whose place is known.
    pub accesses: u64,
    pub followed: u64,
    /// The instructions that made one, by their indexes.
    pub reached: BTreeSet<usize>,
    /// Of variables, by their indexes, and by whether all have to wait: barriers with which nothing was left of what was found.
    pub orderings: BTreeMap<(Option<usize>, bool), Vec<AddedBarrier>>,
}

impl Checked {
    /// What orders what a finding is about, as a shader would have it; nothing where that isn't known.
    pub fn ordering(&self, cause: &Cause, shader: &str) -> Option<String> {
        let barriers = self.orderings.get(&unordered(cause)?)?;
        Some(barriers.iter().map(|barrier| barrier.words(shader)).collect::<Vec<_>>().join(" and "))
    }
}

/// How the look at all workgroups calls what holds a variable; nothing where it doesn't look.
fn home(space: Space) -> Option<Home> {
    match space {
        Space::Storage { set, binding } | Space::Uniform { set, binding } => Some(Home::Buffer { set, binding }),
        Space::PushConstants => Some(Home::PushConstants),
        Space::Shared => Some(Home::Shared),
        Space::Address => None,
    }
}

/// The variable whose accesses barriers would order, by its index, and whether all have to wait for that; nothing where none would.
pub fn unordered(cause: &Cause) -> Option<(Option<usize>, bool)> {
    match cause.class {
        Class::Race | Class::Undecided => Some((cause.root, true)),
        Class::Memory => Some((cause.root, false)),
        _ => None,
    }
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

/// Bytes that memory moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub fetched: u64,
    pub stored: u64,
}

impl DispatchTrace {
    /// Workgroups of which something is known: those that were recorded, and of which a check found the passes alike and all invocations at their end.
    pub fn known(&self) -> u64 {
        let unknown = |checked: &Checked| checked.findings.unsteady + checked.findings.unfinished;
        (self.recorded.len() as u64).saturating_sub(self.checked.as_ref().map_or(0, unknown))
    }

    /// Instructions that no workgroup came to that was checked, by their indexes.
    pub fn unreached(&self) -> Vec<usize> {
        let reached = self.checked.as_ref().map(|checked| &checked.reached);
        (0..self.what.traced.sites.len()).filter(|site| reached.is_some_and(|reached| !reached.contains(site))).collect()
    }

    /// All workgroups of the dispatch.
    pub fn workgroups(&self) -> u64 {
        self.what.groups.iter().map(|groups| u64::from(*groups)).product()
    }

    /// What all workgroups have memory move, if they are like those that were recorded; nothing where none was, or one in part.
    pub fn moved(&self, hardware: &Hardware) -> Option<Moved> {
        if !self.too_large.is_empty() {
            return None;
        }
        let recorded = self.recorded.len() as u128;
        let traffic = &self.analysis.traffic;
        let of_all = |bytes: u64| {
            let all = (u128::from(bytes) * u128::from(self.workgroups())).checked_div(recorded)?;
            Some(u64::try_from(all).unwrap_or(u64::MAX))
        };
        let (fetched, stored) = (of_all(traffic.fetched_bytes(hardware))?, of_all(traffic.stored_bytes(hardware))?);
        Some(Moved { fetched, stored })
    }

    pub(super) fn new(what: &Dispatched) -> Self {
        Self {
            what: what.clone(),
            analysis: Analysis::default(),
            recorded: BTreeSet::new(),
            too_large: BTreeSet::new(),
            passes: 0,
            records: 0,
            differs: false,
            difference: None,
            wrong: None,
            took: Duration::ZERO,
            remedies: Vec::new(),
            operations: None,
            touched: None,
            checked: None,
        }
    }

    pub(super) fn add(&mut self, pass: RecordedPass, groups: Vec<u32>, records: u64) {
        self.passes += 1;
        self.records += records;
        // What is beyond the tolerance says more.
        let is_beyond = |of: &Option<Difference>| of.as_ref().is_some_and(|of| of.beyond_tolerance.is_some());
        if self.difference.is_none() || (is_beyond(&pass.difference) && !is_beyond(&self.difference)) {
            self.difference = pass.difference;
        }
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
        let four = Groups::Spread(4).of(4096);
        assert!(matches!(four[..], [0, 1..2048, 2048..4095, 4095]), "{four:?}");
        let many = Groups::Spread(16).of(16384);
        assert!(many.len() == 16 && many.is_sorted() && many.iter().filter(|group| *group % 1024 == 0).count() < 3, "{many:?}");
        assert_eq!(Groups::Spread(4).of(3), [0, 1, 2]);
        assert_eq!(Groups::Spread(1).of(9), [0]);
        assert_eq!(Groups::Spread(2).of(u32::MAX), [0, u32::MAX - 1]);
        assert_eq!(Groups::All.of(3), [0, 1, 2]);
        assert_eq!(Groups::Named(vec![7, 2, 2, 9]).of(8), [2, 7]);
        assert_eq!(Groups::Spread(4).of(0), [0; 0]);
    }
}
