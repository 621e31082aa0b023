//! What is tried of a kernel, and what that does to its time: costs that are taken away, and remedies.

use std::collections::BTreeMap;

use super::measured::Taken;
use crate::campaign::trace::{DispatchTrace, Scoped};
use crate::measure::CaseKey;
use crate::model::{Failure, Limits, Point};
use crate::shader::{AccessKind, Alteration, Kept, Padding, Relief, ReliefAt, Site, SourceLine, Space};
use crate::trace::sites::Sums;
use crate::units::Ends;
use crate::worker::AlteredCase;

/// What lowers the time by this share is worth it, and what lowers it by less than that isn't.
pub const BINDS: f64 = 0.10;
pub const LETS_GO: f64 = 0.03;

/// The most by which a placebo's time may differ from the kernel's own, as a share of it.
const SAME_TIME: f64 = 0.02;

/// By more than this it is another kernel, whatever the relief gains.
const OTHER_TIME: f64 = 0.25;

/// How often a dispatch is there, side by side, to see what its beginning and its end take.
pub const COPIES: u32 = 4;

/// Lines of one kind that are relieved one by one, and the least share of that kind's cost that makes one worth it.
const MOST_LINES: usize = 4;
const LEAST_SHARE: f64 = 0.1;

/// From this factor on, accesses to shared memory have conflicts.
pub const CONFLICTS: f64 = 1.2;

#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    Relief(ReliefAt),
    /// The same of one line among several.
    Line(ReliefAt),
    /// Its dispatch [`COPIES`] times side by side: each then takes less by what its beginning and its end take.
    Copies,
    /// Fewer of its workgroups at once: each takes so many more bytes of shared memory.
    Crowded(u32),
    Padding(Padding),
    /// f32 in the place of f64.
    Narrow,
    /// Another size of its workgroups.
    LocalSize(Point),
}

/// What a trial did.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub trial: Trial,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Gained(Gain),
    /// Why it wasn't tried, or shows nothing.
    NotTried(String),
}

/// By which share of its time the kernel is faster; below 0 it is slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    pub share: f64,
    /// Where there were enough rounds.
    pub ends: Option<Ends>,
    /// Whether it may be more: the placebo takes another time than the kernel, or a part stayed.
    pub is_least: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Binds,
    LetsGo,
    Undecided,
}

impl Outcome {
    /// Whether what was tried makes the kernel faster; nothing where that isn't known.
    pub fn verdict(&self) -> Option<Verdict> {
        let Self::Gained(gain) = self else { return None };
        Some(match gain.ends {
            Some((low, _)) if low >= BINDS => Verdict::Binds,
            Some((_, high)) if high < LETS_GO && !gain.is_least => Verdict::LetsGo,
            _ => Verdict::Undecided,
        })
    }

    /// Whether it is surely faster by as much as is worth a word.
    pub fn is_gain(&self) -> bool {
        matches!(self, Self::Gained(Gain { ends: Some((low, _)), .. }) if *low >= LETS_GO)
    }
}

impl Tried {
    pub fn verdict(&self) -> Option<Verdict> {
        self.outcome.verdict()
    }

    /// The cost of the whole kernel that was taken away, in a word; nothing where that was of a line, or it is a remedy.
    pub fn taken_away(&self) -> Option<&'static str> {
        match &self.trial {
            Trial::Relief(of) => Some(word(of.relief)),
            Trial::Copies => Some("beginning_and_end"),
            Trial::Crowded(_) => Some("workgroups_at_once"),
            Trial::Line(_) | Trial::Padding(_) | Trial::Narrow | Trial::LocalSize(_) => None,
        }
    }
}

/// Whether a gain with these ends is surely one, and surely too small to bind.
pub fn is_small(low: f64, high: f64) -> bool {
    low >= LETS_GO && high < BINDS
}

impl Trial {
    pub fn of(alteration: &Alteration) -> Self {
        match alteration {
            Alteration::Relieved { of, .. } => Self::Relief(of.clone()),
            Alteration::Copies(_) => Self::Copies,
            Alteration::Crowded(bytes) => Self::Crowded(*bytes),
            Alteration::Padded(padding) => Self::Padding(padding.clone()),
            Alteration::Narrowed => Self::Narrow,
        }
    }

    pub fn of_line(alteration: &Alteration) -> Self {
        match Self::of(alteration) {
            Self::Relief(of) => Self::Line(of),
            other => other,
        }
    }

    /// What of it stays as it is.
    pub fn kept(&self) -> &Kept {
        const NOTHING: &Kept = &Kept { numbers: Vec::new(), lines: Vec::new() };
        match self {
            Self::Relief(of) | Self::Line(of) => &of.kept,
            _ => NOTHING,
        }
    }

    /// The altered cases that are measured for it: of a relief its placebo, and itself. `at` tells it from others.
    pub fn cases(&self, at: usize, base: &CaseKey) -> Vec<AlteredCase> {
        let case =
            |words: &str, alteration| AlteredCase { name: format!("explain/{words}_{at}"), base: base.clone(), alteration };
        match self {
            Self::Relief(of) | Self::Line(of) => {
                let relieved = |is_placebo| Alteration::Relieved { of: of.clone(), is_placebo };
                let word = word(of.relief);
                vec![case(&format!("{word}_placebo"), relieved(true)), case(word, relieved(false))]
            }
            Self::Copies => vec![case("copies", Alteration::Copies(COPIES))],
            // Its placebo has a word more.
            Self::Crowded(bytes) => {
                vec![case("crowded_placebo", Alteration::Crowded(4)), case("crowded", Alteration::Crowded(*bytes))]
            }
            Self::Padding(padding) => vec![case("padding", Alteration::Padded(padding.clone()))],
            Self::Narrow => vec![case("f32", Alteration::Narrowed)],
            Self::LocalSize(_) => Vec::new(),
        }
    }

    /// What it did by what the kernel took, and the cases that were measured for it.
    pub fn outcome(&self, own: &Taken, times: &[Result<Taken, Failure>]) -> Outcome {
        let mut taken = Vec::new();
        for time in times {
            match time {
                Ok(time) => taken.push(time),
                Err(failure) => return Outcome::NotTried(failure.words().to_string()),
            }
        }
        let (before, after, copies) = match (self, &taken[..]) {
            (Self::Relief(_) | Self::Line(_) | Self::Crowded(_), [placebo, relieved]) => {
                return match relieved_of(own, placebo, relieved) {
                    Outcome::Gained(gain) if !self.kept().numbers.is_empty() => {
                        Outcome::Gained(Gain { is_least: true, ..gain })
                    }
                    outcome => outcome,
                };
            }
            (Self::Copies, [all]) => (own, *all, f64::from(COPIES)),
            (Self::Padding(_) | Self::Narrow | Self::LocalSize(_), [other]) => (own, *other, 1.0),
            _ => return Outcome::NotTried("it wasn't measured".to_owned()),
        };
        gained(before, after, copies)
    }
}

/// What a relief did. Where its placebo takes another time than the kernel, what it gains over the faster of the two is what it gains at
/// least: a gain that is large enough is one all the same, and a small one tells nothing.
fn relieved_of(own: &Taken, placebo: &Taken, relieved: &Taken) -> Outcome {
    let off = placebo.ns / own.ns - 1.0;
    if off.abs() <= SAME_TIME {
        return gained(placebo, relieved, 1.0);
    }
    let faster = if placebo.ns < own.ns { placebo } else { own };
    match gained(faster, relieved, 1.0) {
        Outcome::Gained(gain) if off.abs() <= OTHER_TIME && gain.ends.is_some_and(|(low, _)| low >= BINDS) => {
            Outcome::Gained(Gain { is_least: true, ..gain })
        }
        _ => {
            let more = if off > 0.0 { "longer" } else { "less" };
            let off = 100.0 * off.abs();
            Outcome::NotTried(format!("the same code without the relief takes {off:.1} % {more} than the kernel"))
        }
    }
}

/// What is faster now than before, by its time or that of several copies.
fn gained(before: &Taken, after: &Taken, copies: f64) -> Outcome {
    let ends = before.ends.zip(after.ends);
    let ends = ends.map(|((low, high), (fast, slow))| (1.0 - slow / (copies * low), 1.0 - fast / (copies * high)));
    Outcome::Gained(Gain { share: 1.0 - after.ns / (copies * before.ns), ends, is_least: false })
}

fn word(relief: Relief) -> &'static str {
    match relief {
        Relief::Loads => "loads",
        Relief::Stores => "stores",
        Relief::LoadsAndStores => "loads_and_stores",
        Relief::Conflicts => "conflicts",
        Relief::Atomics => "atomics",
        Relief::Barriers => "barriers",
        Relief::Loops => "half_of_loops",
    }
}

/// What is worth a try of a kernel that was recorded.
pub fn alterations(dispatches: &[DispatchTrace], limits: &Limits) -> Scoped<Alteration> {
    let Some(dispatch) = dispatches.first() else { return Scoped::default() };
    let (mut whole, mut by_line) = (Vec::new(), Vec::new());
    for relief in [Relief::Loads, Relief::Stores, Relief::Conflicts, Relief::Atomics, Relief::Barriers] {
        let costs = costs(dispatch, relief);
        let all: u64 = costs.iter().map(|(_, cost)| cost).sum();
        // Images and the like have none: why it isn't tried is worth a line.
        if all == 0 && !matches!(relief, Relief::Loads | Relief::Stores) {
            continue;
        }
        let mut lines: BTreeMap<&SourceLine, u64> = BTreeMap::new();
        for (line, cost) in costs.iter().filter_map(|(line, cost)| Some((line.as_ref()?, cost))) {
            *lines.entry(line).or_default() += cost;
        }
        let is_whole = costs.iter().all(|(line, _)| line.is_some());
        // Where there are no conflicts, leading accesses elsewhere only costs.
        let in_conflict = is_whole && relief == Relief::Conflicts;
        let lines_in_conflict = in_conflict.then(|| lines.keys().map(|line| (*line).clone()).collect());
        whole.push(ReliefAt { lines: lines_in_conflict, ..relief.into() });
        let mut lines: Vec<(&SourceLine, u64)> = lines.into_iter().collect();
        lines.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let is_worth_it = |cost: u64| cost as f64 >= LEAST_SHARE * all as f64;
        if lines.len() > 1 {
            let lines = lines.into_iter().filter(|(_, cost)| is_worth_it(*cost)).take(MOST_LINES);
            by_line.extend(lines.map(|(line, _)| ReliefAt { lines: Some(vec![line.clone()]), ..relief.into() }));
        }
    }
    // Which loops only compute, its code tells.
    whole.push(Relief::Loops.into());
    if [Relief::Loads, Relief::Stores].into_iter().all(|relief| !costs(dispatch, relief).is_empty()) {
        whole.insert(2, Relief::LoadsAndStores.into());
    }
    let relieved = |of| Alteration::Relieved { of, is_placebo: false };
    let remedies = dispatch.remedies.iter().map(|remedy| Alteration::Padded(remedy.padding.clone()));
    let has_doubles = dispatch.operations.as_ref().is_some_and(|counted| !counted.stray_doubles.is_empty());
    let remedies = remedies.chain(has_doubles.then_some(Alteration::Narrowed));
    let room = u64::from(limits.shared_bytes).saturating_sub(dispatch.what.shared_bytes) / 16 * 16;
    let crowded = u32::try_from(room).ok().filter(|room| dispatch.workgroups() > 1 && *room >= limits.shared_bytes / 2);
    let whole = whole.into_iter().map(relieved).chain([Alteration::Copies(COPIES)]).chain(crowded.map(Alteration::Crowded));
    Scoped { whole: whole.chain(remedies).collect(), lines: by_line.into_iter().map(relieved).collect() }
}

/// What each instruction costs that is of a kind, with its line.
pub(super) fn costs(dispatch: &DispatchTrace, relief: Relief) -> Vec<(Option<SourceLine>, u64)> {
    let all = dispatch.analysis.sums.iter().filter_map(|(at, sums)| Some((dispatch.what.traced.sites.get(*at)?, sums)));
    let cost = |(site, sums): (&Site, &Sums)| Some((site.line.clone(), cost(dispatch, site, sums, relief)?));
    all.filter_map(cost).filter(|(_, cost)| *cost > 0).collect()
}

/// What an instruction costs of a kind; nothing where it isn't of that.
fn cost(dispatch: &DispatchTrace, site: &Site, sums: &Sums, relief: Relief) -> Option<u64> {
    let space = sums.root(site, &dispatch.what.traced).map(|(_, root)| root.space);
    let is_buffer = !matches!(space, Some(Space::Shared | Space::PushConstants | Space::Uniform { .. }));
    match (relief, site.kind) {
        (Relief::Loads, AccessKind::Load) | (Relief::Stores, AccessKind::Store) if is_buffer => Some(sums.sectors),
        (Relief::Conflicts, AccessKind::Load | AccessKind::Store) if space == Some(Space::Shared) => {
            let more = sums.wavefronts.saturating_sub(sums.least_wavefronts);
            Some(more).filter(|_| sums.degree().is_some_and(|degree| degree >= CONFLICTS))
        }
        (Relief::Atomics, AccessKind::Atomic) | (Relief::Barriers, AccessKind::Barrier) => Some(sums.lanes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Status;

    fn taken(ns: f64, half: f64) -> Taken {
        Taken { ns, ends: Some((ns * (1.0 - half), ns * (1.0 + half))), rounds: 6, processes: 3, ..Taken::default() }
    }

    #[test]
    fn a_relief_binds_where_its_interval_says_so() {
        let verdict = |own: f64, placebo: f64, relieved: f64, half: f64| {
            let trial = Trial::Relief(Relief::Loads.into());
            let outcome = trial.outcome(&taken(own, half), &[Ok(taken(placebo, half)), Ok(taken(relieved, half))]);
            Tried { trial, outcome }.verdict()
        };
        assert_eq!(verdict(100.0, 100.5, 60.0, 0.01), Some(Verdict::Binds));
        assert_eq!(verdict(100.0, 100.0, 99.5, 0.005), Some(Verdict::LetsGo));
        // Slower than it was.
        assert_eq!(verdict(100.0, 100.0, 240.0, 0.005), Some(Verdict::LetsGo));
        assert_eq!(verdict(100.0, 100.0, 95.0, 0.005), Some(Verdict::Undecided));
        assert_eq!(verdict(100.0, 100.0, 89.0, 0.02), Some(Verdict::Undecided));
        assert_eq!(verdict(100.0, 103.0, 92.0, 0.001), None, "its placebo is another kernel");
        assert_eq!(verdict(100.0, 103.0, 50.0, 0.001), Some(Verdict::Binds), "by half of its time at least");
        assert_eq!(verdict(100.0, 97.0, 50.0, 0.001), Some(Verdict::Binds));
        assert_eq!(verdict(100.0, 150.0, 50.0, 0.001), None);
        // A part stayed that may bind.
        let kept = Kept { numbers: vec![1], lines: Vec::new() };
        let trial = Trial::Relief(ReliefAt { kept, ..Relief::Loads.into() });
        let of_part = |relieved: f64| {
            let outcome = trial.outcome(&taken(100.0, 0.001), &[Ok(taken(100.0, 0.001)), Ok(taken(relieved, 0.001))]);
            Tried { trial: trial.clone(), outcome }.verdict()
        };
        assert_eq!([50.0, 100.0].map(of_part), [Verdict::Binds, Verdict::Undecided].map(Some));
        let failed = Err(Failure::new(Status::Timeout, "it hung"));
        let of_failed = Trial::Copies.outcome(&taken(1.0, 0.1), &[failed]);
        assert!(matches!(of_failed, Outcome::NotTried(why) if why.contains("it hung")));
    }

    #[test]
    fn copies_that_take_as_long_as_one_show_what_it_leaves_idle() {
        let verdict = |copies: f64| {
            let outcome = Trial::Copies.outcome(&taken(100.0, 0.001), &[Ok(taken(copies, 0.001))]);
            Tried { trial: Trial::Copies, outcome }.verdict()
        };
        assert_eq!([400.0, 392.0, 110.0].map(verdict), [Verdict::LetsGo, Verdict::LetsGo, Verdict::Binds].map(Some));
    }
}
