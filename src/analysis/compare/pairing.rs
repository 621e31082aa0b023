//! The cases of two sides, put together and decided.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU64;
use std::sync::Arc;

use super::super::words::counted;
use super::application::Application;
use super::code::note_code;
use super::core_clock::{ClockSource, SideClocks};
use super::derived::judge_derived;
use super::effect::{Effect, Matched, Pools, pools};
use super::identity::{self, About, Difference};
use super::neighbours::{Apart, Neighbours};
use super::observation::{Basis, Observation, WORK};
use super::sides::{DeviceKey, Run, Side, SideCase, Sides};
use super::total::{self, Part};
use super::verdict::{Change, Verdict, decide};
use super::{Compared, Comparison, Terms, is_failure, softened};
use crate::error::Error;
use crate::model::{Repeatability, Status};
use crate::stats::Ratio;

/// A change within this share is none, on a GPU and on a processor.
const MARGIN: f64 = 0.01;
const MARGIN_ON_PROCESSOR: f64 = 0.05;

/// What differs from one machine of a kind to another.
const OF_MACHINES: [&str; 2] = ["device_uuid", "host"];

const MOST_NAMED: usize = 5;

/// Why a case is undecided whose sides are of one device each.
const OF_ONE_DEVICE: &str = "each side has it from one device, and not from the same: measure it on two a side";

pub struct Pairing<'s> {
    sides: [&'s Side; 2],
    by: Option<&'s str>,
    terms: Terms,
    /// Every case of either side.
    all: Vec<[Option<&'s SideCase>; 2]>,
    differences: Vec<Difference>,
    warnings: Vec<String>,
}

enum PairOutcome<'s> {
    Figure,
    Failed(&'s Observation, usize),
    Nothing(String),
}

impl<'s> Pairing<'s> {
    pub fn new(sides: &'s Sides, pair: [&'s Side; 2], terms: Terms) -> Result<Self, Error> {
        let by = sides.by.as_deref();
        let slots = slots(pair)?;
        let [base, new] = pair;
        // By force, cold rows are those of warm cases.
        let is_by_name = terms.is_forced && by.is_none();
        let key = |side: usize, case: &'s SideCase| -> (Cow<'s, str>, usize) {
            let key = if is_by_name { Cow::Owned(case.name()) } else { Cow::Borrowed(&*case.key) };
            (key, slots[side][case.device])
        };
        // Each with whether the base has it.
        let mut others: HashMap<(Cow<str>, usize), (&SideCase, bool)> =
            new.cases.iter().map(|case| (key(1, case), (case, false))).collect();
        let mut all: Vec<[Option<&SideCase>; 2]> = Vec::with_capacity(base.cases.len());
        for case in &base.cases {
            let other = others.get_mut(&key(0, case)).map(|(other, has_base)| {
                *has_base = true;
                *other
            });
            all.push([Some(case), other]);
        }
        all.extend(new.cases.iter().filter(|case| !others[&key(1, case)].1).map(|case| [None, Some(case)]));
        drop(others);
        let mut differences = identity::differences(base, new);
        let is_pooled = |column: &str| base.pools_devices && OF_MACHINES.contains(&column);
        differences.retain(|difference| by != Some(difference.column) && !is_pooled(difference.column));
        let warnings = identity::warning(&differences).into_iter().collect();
        let pairing = Self { sides: pair, by, terms, all, differences, warnings };
        pairing.check()?;
        Ok(pairing)
    }

    fn check(&self) -> Result<(), Error> {
        let names = self.sides.map(|side| side.name.as_str()).join(" and ");
        let both =
            || self.all.iter().filter_map(|cases| Some([cases[0]?, cases[1]?])).filter(|[base, _]| !base.kind.is_derived);
        // Every file may have these, whatever it is about.
        let have_work = self.sides.iter().all(|side| side.cases.iter().any(SideCase::is_work));
        if !both().any(|[base, _]| !have_work || base.is_work()) {
            let caches =
                self.sides.map(|side| side.cases.iter().find(|case| case.is_work()).map_or("", |case| &*case.kind.cache));
            let why = match caches {
                [one, other] if one != other && !one.is_empty() && !other.is_empty() => {
                    format!(
                        "the rows of one are {one}, of the other {other}, and cold rows compare with cold ones (--force compares them all \
                         the same)"
                    )
                }
                _ => "were they measured with other filters, axes or presets?".to_owned(),
            };
            return Err(Error::Usage(format!("{names} have no case in common: {why}")));
        }
        if self.terms.is_forced {
            return Ok(());
        }
        let refuse =
            |why: String| Err(Error::Usage(format!("{names} can't be compared: {why} (--force compares them all the same)")));
        if let Some(difference) = self.differences.iter().find(|difference| difference.about == About::Validation) {
            let [base, new] = &difference.values;
            return refuse(format!("validation is {base} on one side and {new} on the other, and it slows everything down"));
        }
        let named = |of: &dyn Fn(&[&SideCase; 2]) -> bool| {
            let cases: Vec<String> = both().filter(|cases| of(cases)).map(|[base, _]| base.name()).collect();
            let more = if cases.len() > MOST_NAMED { format!(" and {} more", cases.len() - MOST_NAMED) } else { String::new() };
            (!cases.is_empty()).then(|| format!("{}{more}", cases.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ")))
        };
        let has_figures =
            |[base, new]: &[&SideCase; 2]| [base, new].iter().all(|case| case.rows.iter().any(Observation::is_ok));
        if let Some(cases) = named(&|cases| has_figures(cases) && cases[0].kind.unit != cases[1].kind.unit) {
            return refuse(format!("the figures of {cases} have other units"));
        }
        let batches = |case: &SideCase| case.rows.iter().filter(|row| row.is_ok()).any(|row| row.batch != NonZeroU64::new(1));
        let is_mixed = |[base, new]: &[&SideCase; 2]| base.kind.cache != new.kind.cache && (batches(base) || batches(new));
        if let Some(cases) = named(&is_mixed) {
            return refuse(format!(
                "cold rows compare only with warm ones of one pass a sample (batch 1), unlike those of {cases}"
            ));
        }
        Ok(())
    }

    pub fn compared(mut self) -> Result<Comparison, Error> {
        let runs = self.sides.map(|side| side.runs.as_slice());
        let neighbours = Neighbours::new(self.sides);
        let (mut matched, mut derived_pairs) = (Vec::new(), Vec::new());
        let (mut cases, mut derived, mut neither) = (Vec::new(), Vec::new(), 0);
        let application = Application::of(&self.all);
        // With a million cases a side, what is needed no longer is given up at once.
        for pair in &std::mem::take(&mut self.all) {
            let is_derived = pair.iter().flatten().any(|case| case.kind.is_derived);
            let Some(mut compared) = self.fate(pair) else {
                neither += usize::from(!is_derived);
                continue;
            };
            compared.device = self.device(pair);
            match (is_derived, pair, compared.verdict) {
                (true, [Some(base), Some(new)], Verdict::Unclear) => {
                    derived_pairs.push((derived.len(), [*base, *new]));
                    derived.push(compared);
                }
                (true, ..) => derived.push(compared),
                (_, [Some(base), Some(new)], Verdict::Unclear) => {
                    let case = Matched::as_measured([base, new]).at_clock(runs);
                    let case = match neighbours.apart(&case) {
                        Some(Apart::Own(words)) => {
                            compared.because(&words);
                            case.at_own_clock()
                        }
                        Some(Apart::Doubtful(own)) => case.doubting_clock(own),
                        None => case,
                    };
                    matched.push((cases.len(), case));
                    cases.push(compared);
                }
                _ => cases.push(compared),
            }
        }
        let between_runs = pools(matched.iter().map(|(_, case)| case));
        let is_processor = between_runs.contains_key(&Repeatability::Processor);
        let ns: Arc<str> = "ns".into();
        let margin = self.terms.margin.unwrap_or(if is_processor { MARGIN_ON_PROCESSOR } else { MARGIN });
        let mut effects: Vec<(usize, &Matched, Effect)> = matched
            .iter()
            .filter_map(|(place, case)| {
                let compared = &mut cases[*place];
                compared.figures = [case.figure(0), case.figure(1)];
                if case.by_time {
                    compared.unit = ns.clone();
                }
                match case.effect(&between_runs, runs) {
                    Ok(effect) => Some((*place, case, effect)),
                    Err(why) => {
                        compared.because(why);
                        None
                    }
                }
            })
            .collect();
        if self.pools_devices() {
            // A device moves all cases of its own, so that these tell no more of devices than one does.
            let [base, new] = runs.map(|runs| runs.iter().map(Run::device_uuid).collect::<BTreeSet<&str>>());
            if base != new {
                let degrees = degrees(base.len() + new.len());
                effects.iter_mut().for_each(|(.., effect)| effect.change = effect.change.at_most(degrees));
            }
            let alone = effects.iter_mut().filter(|(_, case, _)| !tells_devices(case, runs));
            alone.for_each(|(.., effect)| _ = effect.undecided.get_or_insert_with(|| OF_ONE_DEVICE.to_owned()));
        }
        let softening = softened::softening(effects.iter().map(|(.., effect)| effect));
        let factor = softening.map_or(1.0, |softening| softening.used);
        if factor > 1.0 {
            let borrowing = effects.iter_mut().filter(|(.., effect)| softened::borrows(effect));
            borrowing.for_each(|(.., effect)| effect.change = softened::softened(effect.change, factor));
        }
        let least_sure = judge(&mut cases, &effects, margin);
        let is_without = |case: &Matched, effect: &Effect| {
            let is_bound = matches!(effect.class, Repeatability::Core | Repeatability::Memory);
            let is_told = case.both().all(|row| row.clocked_rounds(ClockSource::Counters).is_some());
            // A pair has its own clock on both sides.
            is_bound && !effect.is_at_clock && !is_told && case.both().all(|row| row.pair().is_none())
        };
        let without_clock = effects.iter().filter(|(_, case, effect)| is_without(case, effect)).count();
        // Several devices have no clock in common.
        let has_one_device = self.sides.iter().all(|side| side.runs.iter().all(|run| run.device == side.runs[0].device));
        let unpaired = effects.iter().map(|(_, case, _)| *case).filter(|case| case.both().all(|row| row.pair().is_none()));
        let clock = if has_one_device { SideClocks::of(unpaired) } else { None };
        let processes = matched.iter().flat_map(|(_, case)| case.both()).map(|row| row.processes()).min().unwrap_or(1);
        judge_derived(
            &mut derived,
            &derived_pairs,
            (clock.as_ref().filter(|clock| clock.is_taken_out), processes),
            least_sure,
            margin,
        );
        let code = note_code(&mut cases, &effects.iter().map(|(place, case, _)| (*place, *case)).collect::<Vec<_>>());
        let judged = effects.iter().filter(|(.., effect)| effect.undecided.is_none());
        let parts: Vec<Part> = judged
            .map(|(place, case, effect)| {
                let factor = if softened::borrows(effect) { factor } else { 1.0 };
                let between = between_runs.get(&effect.class).map_or(0.0, |pool| pool.deviation) * factor;
                Part { family: cases[*place].family(), effect, between, runs: [0, 1].map(|side| case.by_run(side, runs[side])) }
            })
            .collect();
        let compared = cases.iter().filter(|case| !matches!(case.verdict, Verdict::New | Verdict::Fixed));
        let totals = total::totals(&parts, compared.map(Compared::family), margin);
        drop(parts);
        self.warnings.extend([0, 1].into_iter().filter_map(|side| {
            let counts = || matched.iter().map(|(_, case)| case.rows(side).count());
            let (most, all) = (counts().max()?, matched.len());
            let fewer = counts().filter(|count| *count < most).count();
            let name = &self.sides[side].name;
            (fewer > 0).then(|| format!("{fewer} of {all} cases of {name} have a figure in fewer than {most} runs"))
        }));
        if matched.iter().any(|(_, case)| case.is_of_one_row()) && self.by.is_none() {
            self.warnings.push("some rows are the same on both sides: of one run, or of one file".to_owned());
        }
        Ok(Comparison {
            names: self.sides.map(|side| side.name.clone()),
            cases,
            derived,
            neither,
            totals,
            clock,
            without_clock,
            softening,
            code,
            application,
            differences: self.differences,
            warnings: self.warnings,
            between_runs,
            processes,
            margin,
        })
    }

    fn pools_devices(&self) -> bool {
        self.sides.iter().any(|side| side.pools_devices)
    }

    /// The name of a case's device, where a side has several; those of one name are told apart by their UUIDs.
    fn device(&self, pair: &[Option<&'s SideCase>; 2]) -> Arc<str> {
        let found = self.sides.iter().zip(pair).find_map(|(side, case)| Some((&side.devices, (*case)?.device)));
        let Some((devices, place)) = found.filter(|(devices, _)| devices.len() > 1) else { return Arc::default() };
        let DeviceKey { name, device: uuid, .. } = &devices[place];
        let is_alone = devices.iter().filter(|other| other.name == *name).count() == 1;
        if is_alone { name.as_str().into() } else { format!("{name} ({}...)", uuid.chars().take(8).collect::<String>()).into() }
    }

    /// What a case is before figures are compared: `unclear` where both sides have one. Nothing where neither has.
    fn fate(&self, pair: &[Option<&'s SideCase>; 2]) -> Option<Compared> {
        let said = |verdict: Verdict, reason: String| Some(Compared::new(*pair, verdict, reason));
        let new_fate = fate(pair[1]);
        // A base that failed now and then has figures all the same.
        let base_fate = if pair[0].is_some_and(|case| case.rows.iter().any(Observation::is_ok)) {
            PairOutcome::Figure
        } else {
            fate(pair[0])
        };
        let failed = |row: &Observation, times: usize| {
            let runs = pair[1].map_or(0, |case| case.rows.len());
            let often = if runs > 1 { format!(" in {times} of {runs} runs") } else { String::new() };
            let what = if row.lacks_figure() { "no figure" } else { row.status.as_str() };
            let why = if row.said.reason.is_empty() { String::new() } else { format!(": {}", row.said.reason) };
            format!("{what}{often}{why}")
        };
        match (base_fate, new_fate) {
            (PairOutcome::Figure, PairOutcome::Figure) => match self.other_basis(pair) {
                Some(reason) => {
                    let mut compared = Compared::new(*pair, Verdict::Changed, reason);
                    compared.ratio = self.rough_ratio(pair);
                    Some(compared)
                }
                None => said(Verdict::Unclear, String::new()),
            },
            // It failed now and then before as well.
            (PairOutcome::Figure, PairOutcome::Failed(row, times)) if matches!(fate(pair[0]), PairOutcome::Failed(..)) => {
                said(Verdict::Failing, failed(row, times))
            }
            (PairOutcome::Figure, PairOutcome::Failed(row, times)) => said(Verdict::Broken, failed(row, times)),
            (PairOutcome::Figure, PairOutcome::Nothing(reason)) => {
                let is_skipped = pair[1].is_some_and(|case| case.rows.iter().all(|row| row.status == Status::Skipped));
                said(if is_skipped { Verdict::Skipped } else { Verdict::Missing }, reason)
            }
            (PairOutcome::Failed(row, _), PairOutcome::Figure) => {
                said(Verdict::Fixed, format!("{}: {}", row.status, row.said.reason))
            }
            (PairOutcome::Failed(..), PairOutcome::Failed(row, times)) => said(Verdict::Failing, failed(row, times)),
            (PairOutcome::Failed(row, _), PairOutcome::Nothing(reason)) => {
                said(Verdict::Missing, format!("{reason}; {} before", row.status))
            }
            (PairOutcome::Nothing(reason), PairOutcome::Figure) => said(Verdict::New, reason),
            (PairOutcome::Nothing(_), PairOutcome::Failed(row, times)) => said(Verdict::Broken, failed(row, times)),
            (PairOutcome::Nothing(_), PairOutcome::Nothing(_)) => None,
        }
    }

    /// Why the figures of a case have different bases, where they have.
    fn other_basis(&self, pair: &[Option<&'s SideCase>; 2]) -> Option<String> {
        let [Some(base), Some(new)] = pair else { return None };
        // What differs in an axis or a variant is to differ in these, and what is derived has none.
        if base.kind.is_derived || base.case_id != new.case_id {
            return None;
        }
        let mut rows = [base, new].into_iter().flat_map(|case| case.rows.iter().filter(|row| row.is_ok()));
        let first = rows.next()?;
        rows.find_map(|row| departure(&first.basis, &row.basis))
    }

    fn rough_ratio(&self, pair: &[Option<&'s SideCase>; 2]) -> Option<Ratio> {
        let [Some(base), Some(new)] = pair else { return None };
        let effect =
            Matched::as_measured([base, new]).effect(&Pools::new(), self.sides.map(|side| side.runs.as_slice())).ok()?;
        Some(effect.measured.ratio())
    }
}

/// Decides of all cases, and gives the largest p-value of those that are slower or faster, if any was judged.
fn judge(cases: &mut [Compared], effects: &[(usize, &Matched, Effect)], margin: f64) -> Option<f64> {
    let decisive = || effects.iter().filter(|(.., effect)| effect.undecided.is_none());
    let changes: Vec<Change> = decisive().map(|(.., effect)| effect.change).collect();
    let decided = decide(&changes, margin);
    let is_moved = |verdict: &Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    let moved = changes.iter().zip(&decided).filter(|(_, verdict)| is_moved(verdict)).map(|(change, _)| change.p_value());
    let least_sure = (!changes.is_empty()).then(|| moved.fold(0.0, f64::max));
    for ((place, ..), verdict) in decisive().zip(decided) {
        cases[*place].verdict = verdict;
    }
    for (place, _, effect) in effects {
        let compared = &mut cases[*place];
        // Without the clock, what was measured is what was judged.
        compared.ratio = Some(if effect.is_at_clock { effect.measured } else { effect.change }.ratio());
        if effect.is_at_clock {
            compared.left = Some(effect.change.ratio().into());
            let is_changed = matches!(compared.verdict, Verdict::Faster | Verdict::Slower);
            compared.as_measured().filter(|_| is_changed).iter().for_each(|words| compared.because(words));
        }
        if let Some(why) = &effect.undecided {
            compared.is_undecided = true;
            compared.because(why);
        }
    }
    least_sure
}

/// In what the figures of two rows have different bases.
fn departure(base: &Basis, new: &Basis) -> Option<String> {
    let told = base.modules.iter().zip(&new.modules).find(|(base, new)| **base != 0 && **new != 0);
    if told.is_some_and(|(base, new)| base != new) {
        return Some("the shader is another one".to_owned());
    }
    if base.is_by_host != new.is_by_host {
        return Some("the timer is another one: the host's clock in one row, the device's in another".to_owned());
    }
    let differs = |(place, name): (usize, &&str)| match (base.work[place], new.work[place]) {
        (Some(one), Some(other)) if one != other => Some(format!("{name} is {one} in one row, {other} in another")),
        _ => None,
    };
    WORK.iter().enumerate().find_map(differs)
}

/// How a case ended, over all runs of a side: a failure in any of them counts.
fn fate(case: Option<&SideCase>) -> PairOutcome<'_> {
    let Some(case) = case else { return PairOutcome::Nothing("it has no row".to_owned()) };
    let is_failed = |row: &&Observation| is_failure(row.status) || row.lacks_figure();
    if let Some(failed) = case.rows.iter().find(is_failed) {
        return PairOutcome::Failed(failed, case.rows.iter().filter(is_failed).count());
    }
    if case.rows.iter().any(Observation::is_ok) {
        return PairOutcome::Figure;
    }
    let reason = case.rows.first().map_or_else(String::new, |row| {
        let parts = [row.status.as_str(), &row.said.reason];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    });
    PairOutcome::Nothing(reason)
}

/// Degrees of freedom of two means over so many devices together.
#[expect(clippy::cast_precision_loss, reason = "devices are few")]
fn degrees(devices: usize) -> f64 {
    devices.saturating_sub(2).max(1) as f64
}

/// Whether a change of a case can be told from another device: both sides are of the same ones, or each of several.
fn tells_devices(case: &Matched, runs: [&[Run]; 2]) -> bool {
    let [base, new] =
        [0, 1].map(|side| case.rows(side).map(|row| runs[side][row.run].device_uuid()).collect::<BTreeSet<&str>>());
    base == new || base.len().min(new.len()) > 1
}

/// Which devices of two sides stand for each other: the only ones of both, else those of one UUID.
fn slots(sides: [&Side; 2]) -> Result<[Vec<usize>; 2], Error> {
    if sides.iter().all(|side| side.devices.len() == 1) {
        return Ok([vec![0], vec![0]]);
    }
    let mut known: Vec<&str> = Vec::new();
    let mut slots = [Vec::new(), Vec::new()];
    for (side, slots) in sides.iter().zip(&mut slots) {
        for device in &side.devices {
            let place = known.iter().position(|uuid| *uuid == device.device).unwrap_or_else(|| {
                known.push(&device.device);
                known.len() - 1
            });
            if slots.contains(&place) {
                let (name, side) = (&device.name, &side.name);
                return Err(Error::Usage(format!(
                    "{side} holds rows of {name} with several drivers: a side has one for each device; compare drivers by `--by driver_info`"
                )));
            }
            slots.push(place);
        }
    }
    if slots[0].iter().any(|slot| slots[1].contains(slot)) {
        return Ok(slots);
    }
    let counts = sides.map(|side| format!("{} has {}", side.name, counted(side.devices.len() as u64, "device")));
    Err(Error::Usage(format!(
        "{}, and none is the same: put the rows of each device into a file of its own, compare those of one file by `--by device_uuid`, or take those \
         of one kind for one (`--pool-devices`)",
        counts.join(", ")
    )))
}
