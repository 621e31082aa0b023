//! What changed between sides of rows, by how much, and whether it is real.
//!
//! ```text
//! sides        rows of files, read one by one, as the cases of each side
//! observation  what a row tells of its case, in little memory
//! interner     what many rows share, kept once
//! spread       how far a run's figure may be off, by what the run shows
//! pairing      the cases of two sides, put together and decided
//! softened     what is borrowed for how far figures move, where the runs at hand move by more
//! effect       how many times as fast a case is, and how far that may be off
//! core_clock   the core's clock, taken out of a case's times
//! neighbours   the clock beside what was measured at about the same time
//! verdict      the rule that decides: same, faster, slower, unclear
//! identity     what differs between the sides beside their figures
//! derived      what follows from cases: levels, banks, peaks, fits
//! code         what the driver's compiler made
//! total        geometric means
//! application  what an application's kernels take on both sides
//! gate         which verdicts fail a comparison
//! ```

mod application;
mod code;
mod core_clock;
mod derived;
mod effect;
mod gate;
mod identity;
mod interner;
mod neighbours;
mod observation;
mod pairing;
mod sides;
mod softened;
mod spread;
mod total;
mod verdict;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::error::Error;
use crate::model::Status;
use crate::stats::Ratio;

use effect::Pools;
use observation::Observation;
use pairing::Pairing;

pub use application::Application;
pub use code::CodeChange;
pub use core_clock::{ClockSource, SideClocks};
pub use effect::{BetweenRuns, Effect, TIMERS};
pub use gate::{Gate, Judged};
pub use identity::{About, Difference};
pub use sides::{CaseKind, DeviceKey, Question, Side, SideCase, Sides, check_column, read};
pub use softened::Softening;
pub use spread::Spread;
pub use total::Total;
pub use verdict::{FALSE_DISCOVERIES, Verdict};

const MOST_NAMED: usize = 5;

/// What the clock makes of a ratio is told from this share on.
const SEEN: f64 = 0.0005;

#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// A change within this share is none; `None` for the usual.
    pub margin: Option<f64>,
    /// Whether rows are compared that had better not be.
    pub is_forced: bool,
}

/// What became of the cases of one side on another one.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub names: [String; 2],
    pub cases: Vec<Compared>,
    pub derived: Vec<Compared>,
    pub neither: usize,
    /// Geometric means: of each family, then of all.
    pub totals: Vec<Total>,
    /// The core's clock on both sides, where it was taken out, or is too far apart for that.
    pub clock: Option<SideClocks>,
    pub code: Vec<CodeChange>,
    /// Where rows are of an application.
    pub application: Option<Application>,
    pub differences: Vec<Difference>,
    pub warnings: Vec<String>,
    /// In how many cases of a GPU a step of the core's clock counts as a change: it wasn't measured beside all of their rows, and their
    /// sentinels are unlike.
    pub without_clock: usize,
    /// How far figures move from run to run, by class: as it was used.
    pub between_runs: Pools,
    /// How many times as far the cases move from run to run as is borrowed. `None` where too few show it.
    pub softening: Option<Softening>,
    /// The fewest processes that a row's rounds are dealt over.
    pub processes: u64,
    /// A change within this share counts as none.
    pub margin: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What it is but for its axes.
    pub kind: Arc<CaseKind>,
    pub case_id: Arc<str>,
    pub axes: Arc<str>,
    pub verdict: Verdict,
    /// How many times as fast it is, with the ends of the 95 % interval.
    pub ratio: Option<Ratio>,
    pub figures: [Option<f64>; 2],
    pub unit: Arc<str>,
    /// Reasons to doubt either figure, joined by `;`.
    pub flags: Arc<str>,
    pub reason: String,
    /// The ratio with the core's clock taken out, where rows show that: the verdict is about this.
    pub left: Option<Box<Ratio>>,
    pub failures: Box<[Status]>,
    /// Whether its figures can't be judged, however narrow their interval: the reason says why.
    pub is_undecided: bool,
    /// Its device, where the sides have several.
    pub device: Arc<str>,
    /// What makes it the same case on both sides, as [`SideCase::key`].
    pub key: Arc<str>,
}

impl Compared {
    fn new([base, new]: [Option<&SideCase>; 2], verdict: Verdict, reason: String) -> Self {
        let rows = [base, new].into_iter().flatten().flat_map(|case| &case.rows);
        let flags: BTreeSet<&str> = rows.flat_map(|row| row.said.flags.split(';')).filter(|flag| !flag.is_empty()).collect();
        let flags = if flags.is_empty() { Arc::default() } else { flags.into_iter().collect::<Vec<_>>().join(";").into() };
        let value = |case: Option<&SideCase>| {
            case.and_then(|case| case.rows.iter().find(|row| row.is_ok()).and_then(Observation::value))
        };
        let failed = new.into_iter().flat_map(|case| &case.rows).map(|row| row.status).filter(|status| is_failure(*status));
        let failures = failed.collect();
        let text = |of: fn(&SideCase) -> &Arc<str>| base.or(new).map_or_else(Arc::default, |case| of(case).clone());
        Self {
            kind: base.or(new).map_or_else(Arc::default, |case| case.kind.clone()),
            case_id: text(|case| &case.case_id),
            axes: text(|case| &case.axes),
            unit: text(|case| &case.kind.unit),
            verdict,
            ratio: None,
            figures: [value(base), value(new)],
            flags,
            reason,
            left: None,
            failures,
            is_undecided: false,
            device: Arc::default(),
            key: text(|case| &case.key),
        }
    }

    pub fn family(&self) -> &str {
        self.kind.experiment.split('/').next().unwrap_or_default()
    }

    pub fn name(&self) -> String {
        case_name([&self.kind.experiment, &self.kind.variant, &self.axes])
    }

    /// What its verdict is about: how many times as fast it is, but for the core's clock.
    pub fn effect(&self) -> Option<Ratio> {
        self.left.as_deref().copied().or(self.ratio)
    }

    /// What was measured, where the clock's part of it can be seen.
    pub fn as_measured(&self) -> Option<String> {
        let (left, measured) = (self.left.as_deref()?.value, self.ratio?.value);
        let is_seen = (left / measured).ln().abs() > SEEN;
        is_seen.then(|| format!("{measured:.3} as measured: the core's clock is taken out"))
    }

    fn because(&mut self, reason: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(reason);
    }
}

/// Compares every other side with the first one. Values of a column that have no case in common with the base's are left out: axes and
/// variants of one name belong to several experiments.
pub fn compare(sides: &Sides, terms: &Terms) -> Result<Vec<Comparison>, Error> {
    let Some((base, others)) = sides.sides.split_first() else { return Ok(Vec::new()) };
    // Files are compared whatever they have: that they have nothing in common is an error of theirs.
    let keys = if sides.by.is_some() { base.measured_keys() } else { HashSet::new() };
    let has_common = |new: &&Side| new.cases.iter().any(|case| case.is_work() && keys.contains(&*case.key));
    let (common, apart): (Vec<&Side>, Vec<&Side>) = others.iter().partition(has_common);
    let compared = if common.is_empty() { others.iter().collect() } else { common };
    let mut comparisons: Vec<Comparison> = Vec::new();
    for new in compared {
        comparisons.push(Pairing::new(sides, [base, new], *terms)?.compared()?);
    }
    if let (Some(by), Some(first)) = (sides.by.as_deref().filter(|_| !apart.is_empty()), comparisons.first_mut()) {
        if apart.len() < others.len() {
            let names: Vec<&str> = apart.iter().map(|side| side.name.as_str()).collect();
            let (named, more) = names.split_at(names.len().min(MOST_NAMED));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let (named, base) = (named.join(", "), &base.name);
            first.warnings.push(format!("left out, since they have no case in common with {base}: {by} {named}{more}"));
        }
    }
    Ok(comparisons)
}

fn case_name(parts: [&str; 3]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_failure(status: Status) -> bool {
    status.is_failure() && status != Status::NotRun
}
