//! What changed between sides of rows, by how much, and whether it is real.
//!
//! ```text
//! sides        rows of files, read one by one, as the cases of each side
//! observation  what a row tells of its case, in little memory
//! spread       how far a run's figure may be off, by what the run shows
//! effect       how many times as fast a case is, and how far that may be off
//! factor       what most cases of a class share: clocks, or one change of the whole system
//! verdict      the rule that decides: same, faster, slower, unclear
//! identity     what differs between the sides beside their figures
//! code         what the driver's compiler made
//! total        geometric means
//! gate         which verdicts fail a comparison
//! ```

mod code;
mod effect;
mod factor;
mod gate;
mod identity;
mod observation;
mod sides;
mod spread;
mod total;
mod verdict;

use std::collections::{BTreeSet, HashMap};

use super::words::counted;
use crate::error::Error;
use crate::model::{Repeatability, Status};

use code::note_code;
use effect::{Matched, Pools, pools};
use factor::{Share, factors};
use observation::{Observation, WORK};
use verdict::{Change, decide};

pub use code::CodeChange;
pub use effect::{BetweenRuns, Effect};
pub use factor::Factor;
pub use gate::Gate;
pub use identity::{About, Difference};
pub use sides::{DeviceKey, Question, Side, SideCase, Sides, read};
pub use spread::Spread;
pub use total::Total;
pub use verdict::{FALSE_DISCOVERIES, Verdict};

/// A change within this share is none, on a GPU and on a processor.
const MARGIN: f64 = 0.01;
const MARGIN_ON_PROCESSOR: f64 = 0.05;

/// The unit of derived figures that are shares of others.
const SHARE: &str = "ratio";

/// Degrees of freedom of what derived figures borrow.
const DEGREES_OF_DERIVED: f64 = 5.0;

/// How unsure it is how far a case follows the clock that explains its change, as a share of the clock's.
const UNSURE_OF_CLOCK: f64 = 1.0 / 3.0;

/// Cases that a message names.
const MOST_NAMED: usize = 5;

/// How to compare.
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
    /// The sides' names: the base, and what is compared with it.
    pub names: [String; 2],
    /// Every case of either side, in the order of the base's rows.
    pub cases: Vec<Compared>,
    /// What follows from rows: levels, banks, peaks, fits.
    pub derived: Vec<Compared>,
    /// Cases without a figure on either side.
    pub neither: usize,
    /// Geometric means: of each family, then of all.
    pub totals: Vec<Total>,
    /// What most cases of a class share.
    pub factors: Vec<Factor>,
    /// What the driver's compiler made of the cases, where rows tell it.
    pub code: Vec<CodeChange>,
    /// What differs beside the figures.
    pub differences: Vec<Difference>,
    /// What to know before trusting it.
    pub warnings: Vec<String>,
    /// How far figures move from run to run, by class: as it was used.
    pub between_runs: Pools,
    /// A change within this share counts as none.
    pub margin: f64,
}

/// A case.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its experiment.
    pub experiment: String,
    /// Its variant.
    pub variant: String,
    /// Its id.
    pub case_id: String,
    /// Its axes.
    pub axes: String,
    /// What became of it.
    pub verdict: Verdict,
    /// How many times as fast it is, with the ends of the 95 % interval.
    pub ratio: Option<Ratio>,
    /// Its figure on each side.
    pub figures: [Option<f64>; 2],
    /// The figures' unit.
    pub unit: String,
    /// Reasons to doubt either figure, joined by `;`.
    pub flags: String,
    /// Why it is so, in words.
    pub reason: String,
    /// How it ended on the new side; nothing where it has no row.
    pub status: Option<Status>,
    /// What the caches held.
    pub cache: String,
    /// Its device, where the sides have several.
    pub device: String,
    /// What makes it the same case on both sides, as [`SideCase::key`].
    pub key: String,
}

/// How many times as fast something is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    fn new(change: &Change) -> Self {
        let (low, high) = change.interval();
        Self { value: change.log.exp(), low: low.exp(), high: high.exp() }
    }
}

impl Compared {
    fn new([base, new]: [Option<&SideCase>; 2], verdict: Verdict, reason: String) -> Self {
        let rows = [base, new].into_iter().flatten().flat_map(|case| &case.rows);
        let flags: BTreeSet<&str> = rows.flat_map(|row| row.flags.split(';')).filter(|flag| !flag.is_empty()).collect();
        let value =
            |case: Option<&SideCase>| case.and_then(|case| case.rows.iter().find_map(|row| row.value.filter(|_| row.is_ok())));
        let status = new.and_then(|case| {
            let failed = case.rows.iter().find(|row| row.status.is_failure());
            failed.or(case.rows.first()).map(|row| row.status)
        });
        let text = |of: fn(&SideCase) -> &str| base.or(new).map_or_else(String::new, |case| of(case).to_owned());
        Self {
            experiment: text(|case| &case.experiment),
            variant: text(|case| &case.variant),
            case_id: text(|case| &case.case_id),
            axes: text(|case| &case.axes),
            unit: text(|case| &case.unit),
            verdict,
            ratio: None,
            figures: [value(base), value(new)],
            flags: flags.into_iter().collect::<Vec<_>>().join(";"),
            reason,
            status,
            cache: text(|case| &case.cache),
            device: String::new(),
            key: text(|case| &case.key),
        }
    }

    /// The first part of its experiment's name.
    pub fn family(&self) -> &str {
        self.experiment.split('/').next().unwrap_or_default()
    }

    /// Experiment, variant and axes.
    pub fn name(&self) -> String {
        let parts = [&self.experiment, &self.variant, &self.axes].map(String::as_str).into_iter();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn because(&mut self, reason: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(reason);
    }
}

/// Compares every other side with the first one.
///
/// # Errors
/// Sides that have nothing in common, or whose rows can't be compared.
pub fn compare(sides: &Sides, terms: &Terms) -> Result<Vec<Comparison>, Error> {
    let Some((base, others)) = sides.sides.split_first() else { return Ok(Vec::new()) };
    others.iter().map(|new| Pairing::new(sides, [base, new], *terms)?.compared()).collect()
}

/// The cases of two sides, put together.
struct Pairing<'s> {
    sides: [&'s Side; 2],
    by: Option<&'s str>,
    terms: Terms,
    /// Every case of either side.
    all: Vec<[Option<&'s SideCase>; 2]>,
    differences: Vec<Difference>,
    warnings: Vec<String>,
}

/// How a case ended on one side.
enum Fate<'s> {
    /// With a figure.
    Figure,
    /// It failed, in so many of its runs.
    Failed(&'s Observation, usize),
    /// It has no figure, for this reason.
    Nothing(String),
}

impl<'s> Pairing<'s> {
    fn new(sides: &'s Sides, pair: [&'s Side; 2], terms: Terms) -> Result<Self, Error> {
        let by = sides.by.as_deref();
        let slots = slots(pair)?;
        let [base, new] = pair;
        let slot = |side: usize, case: &SideCase| slots[side][case.device];
        let others: HashMap<(&str, usize), &SideCase> =
            new.cases.iter().map(|case| ((case.key.as_ref(), slot(1, case)), case)).collect();
        let known: HashMap<(&str, usize), ()> =
            base.cases.iter().map(|case| ((case.key.as_ref(), slot(0, case)), ())).collect();
        let mut all: Vec<[Option<&SideCase>; 2]> =
            base.cases.iter().map(|case| [Some(case), others.get(&(case.key.as_ref(), slot(0, case))).copied()]).collect();
        let fresh = new.cases.iter().filter(|case| !known.contains_key(&(case.key.as_ref(), slot(1, case))));
        all.extend(fresh.map(|case| [None, Some(case)]));
        let mut differences = identity::differences(base, new);
        differences.retain(|difference| by != Some(difference.column));
        let warnings = identity::warning(&differences).into_iter().collect();
        let pairing = Self { sides: pair, by, terms, all, differences, warnings };
        pairing.check()?;
        Ok(pairing)
    }

    /// Refuses what can't be compared.
    fn check(&self) -> Result<(), Error> {
        let names = self.sides.map(|side| side.name.as_str()).join(" and ");
        let both = || self.all.iter().filter_map(|cases| Some([cases[0]?, cases[1]?])).filter(|[base, _]| !base.is_derived);
        if both().next().is_none() {
            let caches = self.sides.map(|side| side.cases.first().map_or("", |case| case.cache.as_ref()));
            let why = match caches {
                [one, other] if one != other && !one.is_empty() && !other.is_empty() => {
                    format!("the rows of one are {one}, of the other {other}; cold rows compare with cold ones")
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
            let cases: Vec<String> = both().filter(|cases| of(cases)).map(|[base, _]| name(base)).collect();
            let more = if cases.len() > MOST_NAMED { format!(" and {} more", cases.len() - MOST_NAMED) } else { String::new() };
            (!cases.is_empty()).then(|| format!("{}{more}", cases.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ")))
        };
        let has_figures =
            |[base, new]: &[&SideCase; 2]| [base, new].iter().all(|case| case.rows.iter().any(Observation::is_ok));
        if let Some(cases) = named(&|cases| has_figures(cases) && cases[0].unit != cases[1].unit) {
            return refuse(format!("the figures of {cases} have other units"));
        }
        let batches = |case: &SideCase| case.rows.iter().filter(|row| row.is_ok()).any(|row| row.batch != Some(1));
        let is_mixed = |[base, new]: &[&SideCase; 2]| base.cache != new.cache && (batches(base) || batches(new));
        if let Some(cases) = named(&is_mixed) {
            return refuse(format!(
                "cold rows compare only with warm ones of one pass a sample (batch 1), unlike those of {cases}"
            ));
        }
        Ok(())
    }

    fn compared(mut self) -> Result<Comparison, Error> {
        let (mut matched, mut derived_pairs) = (Vec::new(), Vec::new());
        let (mut cases, mut derived, mut neither) = (Vec::new(), Vec::new(), 0);
        for pair in &self.all {
            let is_derived = pair.iter().flatten().any(|case| case.is_derived);
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
                    matched.push((cases.len(), Matched::new([base, new])));
                    cases.push(compared);
                }
                _ => cases.push(compared),
            }
        }
        let runs = self.sides.map(|side| side.runs.as_slice());
        let between_runs = pools(matched.iter().map(|(_, case)| case));
        let is_processor = between_runs.contains_key(&Repeatability::Processor);
        let margin = self.terms.margin.unwrap_or(if is_processor { MARGIN_ON_PROCESSOR } else { MARGIN });
        let effects: Vec<(usize, &Matched, Effect)> = matched
            .iter()
            .filter_map(|(place, case)| {
                let compared = &mut cases[*place];
                compared.figures = [case.figure(0), case.figure(1)];
                match case.effect(&between_runs, runs) {
                    Ok(effect) => Some((*place, case, effect)),
                    Err(why) => {
                        compared.because(why);
                        None
                    }
                }
            })
            .collect();
        let factors = self.judge(&mut cases, &effects, margin);
        judge_derived(&mut derived, &derived_pairs, &factors, margin);
        let code = note_code(&mut cases, &effects.iter().map(|(place, case, _)| (*place, *case)).collect::<Vec<_>>());
        let totals =
            total::totals(effects.iter().filter(|(.., effect)| effect.undecided.is_none()).map(|(place, _, effect)| {
                (cases[*place].family(), effect, between_runs.get(&effect.class).map_or(0.0, |pool| pool.deviation))
            }));
        if self.sides[0].runs.iter().any(|run| self.sides[1].runs.iter().any(|other| run.file == other.file))
            && self.by.is_none()
        {
            self.warnings.push("both sides are the same file".to_owned());
        }
        Ok(Comparison {
            names: self.sides.map(|side| side.name.clone()),
            cases,
            derived,
            neither,
            totals,
            factors,
            code,
            differences: self.differences,
            warnings: self.warnings,
            between_runs,
            margin,
        })
    }

    /// The name of a case's device, where a side has several; those of one name are told apart by their UUIDs.
    fn device(&self, pair: &[Option<&'s SideCase>; 2]) -> String {
        let found = self.sides.iter().zip(pair).find_map(|(side, case)| Some((&side.devices, (*case)?.device)));
        let Some((devices, place)) = found.filter(|(devices, _)| devices.len() > 1) else { return String::new() };
        let DeviceKey { name, device: uuid, .. } = &devices[place];
        let is_alone = devices.iter().filter(|other| other.name == *name).count() == 1;
        if is_alone { name.clone() } else { format!("{name} ({}...)", uuid.chars().take(8).collect::<String>()) }
    }

    /// What a case is before figures are compared: `unclear` where both sides have one. Nothing where neither has.
    fn fate(&self, pair: &[Option<&'s SideCase>; 2]) -> Option<Compared> {
        let said = |verdict: Verdict, reason: String| Some(Compared::new(*pair, verdict, reason));
        let new_fate = fate(pair[1]);
        // A base that failed now and then has figures all the same.
        let base_fate =
            if pair[0].is_some_and(|case| case.rows.iter().any(Observation::is_ok)) { Fate::Figure } else { fate(pair[0]) };
        let failed = |row: &Observation, times: usize| {
            let runs = pair[1].map_or(0, |case| case.rows.len());
            let often = if runs > 1 { format!(" in {times} of {runs} runs") } else { String::new() };
            format!("{}{often}: {}", row.status, row.reason)
        };
        match (base_fate, new_fate) {
            (Fate::Figure, Fate::Figure) => match self.other_basis(pair) {
                Some(reason) => {
                    let mut compared = Compared::new(*pair, Verdict::Changed, reason);
                    compared.ratio = self.rough_ratio(pair);
                    Some(compared)
                }
                None => said(Verdict::Unclear, String::new()),
            },
            (Fate::Figure, Fate::Failed(row, times)) => said(Verdict::Broken, failed(row, times)),
            (Fate::Figure, Fate::Nothing(reason)) => said(Verdict::Missing, reason),
            (Fate::Failed(row, _), Fate::Figure) => said(Verdict::Fixed, format!("{}: {}", row.status, row.reason)),
            (Fate::Failed(..), Fate::Failed(row, times)) => said(Verdict::Failing, failed(row, times)),
            (Fate::Failed(row, _), Fate::Nothing(reason)) => said(Verdict::Missing, format!("{reason}; {} before", row.status)),
            (Fate::Nothing(reason), Fate::Figure) => said(Verdict::New, reason),
            (Fate::Nothing(_), Fate::Failed(row, times)) => said(Verdict::Broken, failed(row, times)),
            (Fate::Nothing(_), Fate::Nothing(_)) => None,
        }
    }

    /// Why the figures of a case have different bases, where they have.
    fn other_basis(&self, pair: &[Option<&'s SideCase>; 2]) -> Option<String> {
        let [Some(base), Some(new)] = pair else { return None };
        // What differs in an axis or a variant is to differ in these, and what is derived has none.
        if base.is_derived || base.case_id != new.case_id {
            return None;
        }
        let [base, new] = [base, new].map(|case| case.rows.iter().find(|row| row.is_ok()));
        let (base, new) = (base?, new?);
        if base.module != new.module && base.module != 0 && new.module != 0 {
            return Some("the shader is another one".to_owned());
        }
        let differs = |(place, name): (usize, &&str)| match (base.work[place], new.work[place]) {
            (Some(one), Some(other)) if one != other => Some(format!("{name} is {one} on one side, {other} on the other")),
            _ => None,
        };
        WORK.iter().enumerate().find_map(differs)
    }

    /// The ratio of figures that have different bases.
    fn rough_ratio(&self, pair: &[Option<&'s SideCase>; 2]) -> Option<Ratio> {
        let [Some(base), Some(new)] = pair else { return None };
        let matched = Matched::new([base, new]);
        let effect = matched.effect(&Pools::new(), self.sides.map(|side| side.runs.as_slice())).ok()?;
        Some(Ratio::new(&effect.change))
    }

    /// Finds what cases share, and decides of each.
    fn judge(&self, cases: &mut [Compared], effects: &[(usize, &Matched, Effect)], margin: f64) -> Vec<Factor> {
        let decisive: Vec<&(usize, &Matched, Effect)> =
            effects.iter().filter(|(.., effect)| effect.undecided.is_none()).collect();
        let shares: Vec<Share> =
            decisive.iter().map(|(_, case, effect)| Share { experiment: &case.cases[0].experiment, effect }).collect();
        let factors = factors(&shares, margin);
        let (changes, clocks): (Vec<Change>, Vec<Option<f64>>) =
            decisive.iter().map(|(.., effect)| left(effect, &factors)).unzip();
        for (((place, ..), verdict), clock) in decisive.iter().zip(decide(&changes, margin)).zip(clocks) {
            cases[*place].verdict = verdict;
            if let Some(clock) = clock.filter(|clock| clock.abs() > margin / 4.0) {
                cases[*place].because(&format!("the clock beside it moved by {:+.1} %", 100.0 * clock.exp_m1()));
            }
        }
        for (place, _, effect) in effects {
            cases[*place].ratio = Some(Ratio::new(&effect.change));
            if let Some(why) = &effect.undecided {
                cases[*place].because(why);
            }
        }
        factors
    }
}

/// What is left of a change where clocks explain a part of it, and the clock's own change where it is the case's.
///
/// Where most cases of a class share a factor that is the clock's, it is that factor. Else the clock beside the case may still have moved,
/// as it does where a device warms up: a case that the core clock bounds followed it in part or not at all, so it explains no more than
/// brings the change nearer to none, and adds to what isn't known.
fn left(effect: &Effect, factors: &[Factor]) -> (Change, Option<f64>) {
    let Change { log, spread } = effect.change;
    if let Some(factor) = factors.iter().find(|factor| factor.class == effect.class && factor.clock.is_some()) {
        return (Change { log: log - factor.log, spread }, None);
    }
    let Some(clock) = effect.clock.filter(|_| effect.class == Repeatability::Core) else { return (effect.change, None) };
    let explains = (log - clock).abs() < log.abs();
    let (log, unknown) = if explains { (log - clock, clock * UNSURE_OF_CLOCK) } else { (log, clock) };
    let spread = spread::sum([spread, Spread { variance: unknown.powi(2), degrees: f64::INFINITY }]);
    (Change { log, spread }, Some(clock))
}

/// The change of a derived figure that has an interval on both sides.
fn change_of_derived(cases: [&SideCase; 2]) -> Option<Change> {
    let [base, new] = cases.map(|case| case.rows.iter().rev().find(|row| row.is_ok()));
    let (base, new) = (base?, new?);
    let sign = if cases[0].better.as_ref() == "lower" { -1.0 } else { 1.0 };
    let (one, other) = (base.value.filter(|value| *value > 0.0)?, new.value.filter(|value| *value > 0.0)?);
    let class = Matched::new(cases).class().between_runs();
    let borrowed = Spread { variance: 2.0 * class.powi(2), degrees: DEGREES_OF_DERIVED };
    Some(Change { log: sign * (other / one).ln(), spread: spread::sum([base.own?, new.own?, borrowed]) })
}

/// Decides of derived figures. Where they have intervals, these decide; a count is the same or it isn't.
fn judge_derived(derived: &mut [Compared], pairs: &[(usize, [&SideCase; 2])], factors: &[Factor], margin: f64) {
    let changes: Vec<Option<Change>> = pairs.iter().map(|(_, cases)| change_of_derived(*cases)).collect();
    // A peak follows the clocks as the cases do that it is the best of.
    let clocks = || factors.iter().filter(|factor| factor.clock.is_some());
    let left = |change: &Change| {
        let nearest = clocks().map(|factor| change.log - factor.log).min_by(|one, other| one.abs().total_cmp(&other.abs()));
        Change { log: nearest.filter(|left| left.abs() < change.log.abs()).unwrap_or(change.log), ..*change }
    };
    let known: Vec<Change> = changes.iter().flatten().map(left).collect();
    let mut decided = decide(&known, margin).into_iter();
    for ((place, cases), change) in pairs.iter().zip(changes) {
        let compared = &mut derived[*place];
        compared.ratio = change.map(|change| Ratio::new(&change));
        let verdict = change.and_then(|_| decided.next()).unwrap_or(Verdict::Unclear);
        let [base, new] = cases.map(|case| case.rows.iter().rev().find(|row| row.is_ok()).map(|row| (row.value, row.ends)));
        let is_count = [base, new].iter().flatten().all(|(_, ends)| ends.is_none()) && is_count(&cases[0].unit);
        // A share changes with what it is a share of: neither way is faster.
        let has_no_better = cases[0].better.is_empty() || cases[0].unit.as_ref() == SHARE;
        let is_neither_better = has_no_better && matches!(verdict, Verdict::Faster | Verdict::Slower);
        compared.verdict = match verdict {
            _ if base == new => Verdict::Same,
            _ if is_neither_better || (change.is_none() && is_count) => Verdict::Changed,
            verdict => verdict,
        };
        if change.is_none() && compared.verdict == Verdict::Unclear {
            compared.because("it has no interval");
        }
    }
}

/// Whether a derived figure is a count, which no noise moves by a little.
fn is_count(unit: &str) -> bool {
    !unit.contains('/') && !["ns", SHARE].contains(&unit)
}

/// How a case ended, over all runs of a side: a failure in any of them counts.
fn fate(case: Option<&SideCase>) -> Fate<'_> {
    let Some(case) = case else { return Fate::Nothing("it has no row".to_owned()) };
    let is_failed = |row: &&Observation| row.status.is_failure() && row.status != Status::NotRun;
    if let Some(failed) = case.rows.iter().find(is_failed) {
        return Fate::Failed(failed, case.rows.iter().filter(is_failed).count());
    }
    if case.rows.iter().any(Observation::is_ok) {
        return Fate::Figure;
    }
    let reason = case.rows.first().map_or_else(String::new, |row| {
        let parts = [row.status.as_str(), &row.reason];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    });
    Fate::Nothing(reason)
}

/// Which devices of two sides stand for each other: the only ones of both, else those of one UUID or name.
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
    Err(Error::Usage(format!("{}, and none is the same: compare devices of one file by `--by device_name`", counts.join(", "))))
}

fn name(case: &SideCase) -> String {
    let parts = [&case.experiment, &case.variant, &case.axes].map(|part| part.as_ref()).into_iter();
    parts.filter(|part: &&str| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
