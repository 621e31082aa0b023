//! How many times as fast a case is on the other side, and how far that may be off.
//!
//! The unit of replication is the run: fresh processes with other allocations. A run's own rounds show only a part of its error; the
//! rest is what figures move from run to run, borrowed by class where runs aren't repeated.

use std::collections::BTreeMap;
use std::ops::Deref;

use super::core_clock::{self, ClockSource, TakenOut};
use super::observation::{Observation, Pair};
use super::sides::{Run, SideCase};
use super::spread::{Spread, sum};
use super::verdict::Change;
use crate::model::{Flag, Repeatability};
use crate::stats::{self, Prior};

/// How well a borrowed spread holds for a single case, in degrees of freedom: cases of one class move by unlike amounts, some several
/// times as much as most, and Student's t with few degrees has such tails. With a scale of three fifths of the class's variance its own
/// would be the class's; what is borrowed counts for more. `benches/compare.rs` shows what follows.
pub const OF_BORROWED: f64 = 5.0;
const SCALE_OF_BORROWED: f64 = 0.8;

/// Runs beyond the first of each side from which on replicates that are alike are believed.
const FEWEST_DRAWS: usize = 3;

/// What measures the timer itself: no rounds of batches, so that their spread says little.
pub const TIMERS: [&str; 3] = ["calibration/timer", "calibration/clock", "calibration/core_clock"];

/// Pooled degrees of freedom from which on replicates replace what is borrowed.
const OF_POOL: f64 = 10.0;

/// A case whose replicates scatter by so many times the expected variance is an outlier, and counts for no more.
const JUMP: f64 = 20.0;

/// How often what lies between runs is found anew; it hardly changes after ten times.
const TRIES: usize = 30;

/// Pooled degrees of freedom from which on replicates make what is expected smaller, and how small at most.
const OF_SCALE: f64 = 60.0;
const LEAST_SCALE: f64 = 0.4;

/// The least that a pool says, where replicates differ by no more than their rounds show.
const LEAST_SPREAD: f64 = 0.0002;

/// Processes on each side from which on a case that depends on where its buffers lie is decided.
const ENOUGH_PROCESSES: u64 = 6;

pub struct Matched<'s> {
    pub cases: [&'s SideCase; 2],
    pub by_time: bool,
    clock: ClockPart,
}

/// The core's part in a case's change.
#[derive(Clone, Debug)]
enum ClockPart {
    /// It isn't known, or isn't taken out.
    Unknown,
    /// It is the case's own, which draws the power that moves the clock.
    Own,
    /// Its rows with the clock taken out.
    TakenOut(Box<TakenOut>),
}

/// What tells a run from others, and a case's speed in it, as a logarithm.
pub type InRun = (u64, f64);

/// A row of a side that has a figure.
#[derive(Clone, Copy)]
pub struct Row<'s> {
    row: &'s Observation,
    /// What is added to the logarithm of its speed for the clock.
    added: f64,
    own: Option<Spread>,
    is_at_clock: bool,
}

impl Deref for Row<'_> {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        self.row
    }
}

#[derive(Clone, Debug)]
pub struct Effect {
    /// How many times as fast, as a logarithm, with the core's clock taken out where that was measured; and how far that may be off.
    pub change: Change,
    /// The same as measured.
    pub measured: Change,
    pub class: Repeatability,
    /// Whether the core's clock is taken out.
    pub is_at_clock: bool,
    /// Whether how far it moves from run to run is borrowed.
    pub is_borrowed: bool,
    pub undecided: Option<String>,
}

/// How far figures of a class move from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    pub class: Repeatability,
    /// The standard deviation, as a share; where it is borrowed, that of the rows with the fewest processes.
    pub deviation: f64,
    /// Pooled degrees of freedom of the replicates that told it; `None` where it is borrowed.
    pub measured: Option<f64>,
    /// Whether that is of rows with the core's clock taken out: of others, what is borrowed counts.
    pub is_at_clock: bool,
    /// How replicates scatter beside what is expected of them, as a share of the variance; 1 where they are too few to tell.
    pub scale: f64,
    /// How the variances are distributed that runs show themselves, where they are enough to tell.
    pub within: Option<Prior>,
}

impl BetweenRuns {
    /// As the class is known to move, in runs of at least so many processes.
    pub fn borrowed(class: Repeatability, processes: u64) -> Self {
        Self { class, deviation: class.between_runs(processes), measured: None, is_at_clock: false, scale: 1.0, within: None }
    }

    /// Whether it is the least that a pool says: replicates differ by no more than their rounds show.
    pub fn is_least(&self) -> bool {
        self.measured.is_some() && self.deviation <= LEAST_SPREAD
    }

    fn spread(&self, row: &Row) -> Spread {
        let is_told = self.measured.is_some() && self.is_at_clock == row.is_at_clock;
        let deviation = if is_told { self.deviation } else { row.borrowed(self.class) };
        Spread { variance: deviation.powi(2) * SCALE_OF_BORROWED, degrees: OF_BORROWED }
    }

    /// What is known of a row's own spread, by itself and by others of the class.
    fn own(&self, row: &Row) -> Option<Spread> {
        let own = row.own?;
        Some(self.within.map_or(own, |prior| {
            let (variance, degrees) = prior.moderated(own.variance, own.degrees);
            Spread { variance, degrees }
        }))
    }
}

/// That of every class that comes up.
pub type Pools = BTreeMap<Repeatability, BetweenRuns>;

impl<'s> Matched<'s> {
    /// A case that has figures on both sides, as it was measured; their units may differ where times are compared.
    pub fn as_measured(cases: [&'s SideCase; 2]) -> Self {
        Self { cases, by_time: cases[0].kind.unit != cases[1].kind.unit, clock: ClockPart::Unknown }
    }

    /// The same with the core's clock taken out, where its rows show that.
    pub fn at_clock(self, runs: [&[Run]; 2]) -> Self {
        let rows = [0, 1].map(|side| self.rows(side).map(|row| row.row).collect::<Vec<_>>());
        let clock = TakenOut::of([&rows[0], &rows[1]], runs, (self.class(), &self.cases[0].kind.experiment));
        Self { clock: clock.map_or(ClockPart::Unknown, |clock| ClockPart::TakenOut(clock.into())), ..self }
    }

    /// The same as it was measured, where its part in the clock is its own.
    pub fn at_own_clock(self) -> Self {
        Self { clock: ClockPart::Own, ..self }
    }

    /// The same where it may have made so much of the clock's change itself, as a logarithm.
    pub fn doubting_clock(mut self, own: f64) -> Self {
        if let ClockPart::TakenOut(clock) = &mut self.clock {
            clock.doubt(own);
        }
        self
    }

    fn taken_out(&self) -> Option<&TakenOut> {
        if let ClockPart::TakenOut(clock) = &self.clock { Some(clock) } else { None }
    }

    /// What showed the core's clock that is taken out.
    pub fn clock_source(&self) -> Option<ClockSource> {
        self.taken_out().map(TakenOut::source)
    }

    /// The rows of a side that have figures.
    pub fn rows(&self, side: usize) -> impl Iterator<Item = Row<'s>> {
        let row = move |(place, row): (usize, &'s Observation)| match self.taken_out() {
            Some(clock) => {
                let (added, own) = clock.row(side, place);
                Row { row, added, own: own.or_else(|| row.own()), is_at_clock: true }
            }
            None => Row { row, added: 0.0, own: row.own(), is_at_clock: false },
        };
        self.cases[side].rows.iter().filter(|row| row.is_ok()).enumerate().map(row)
    }

    pub fn both(&self) -> impl Iterator<Item = Row<'s>> {
        self.rows(0).chain(self.rows(1))
    }

    /// A row's figure as a logarithm that rises with speed.
    fn log(&self, row: &Row) -> Option<f64> {
        let (figure, less_is_better) =
            if self.by_time { (row.time(), true) } else { (row.value(), &*self.cases[0].kind.better == "lower") };
        let sign = if less_is_better { -1.0 } else { 1.0 };
        figure.filter(|figure| *figure > 0.0).map(|figure| sign * figure.ln() + row.added)
    }

    /// The class that moves most.
    pub fn class(&self) -> Repeatability {
        let classes = self.both().map(|row| row.class);
        classes.max_by(|one, other| one.between_runs(1).total_cmp(&other.between_runs(1))).unwrap_or(Repeatability::Memory)
    }

    fn logs(&self, side: usize) -> Option<Vec<f64>> {
        self.rows(side).map(|row| self.log(&row)).collect()
    }

    /// The logarithm of its speed in each run of a side, with what tells the run from others.
    pub fn by_run(&self, side: usize, runs: &[Run]) -> Vec<InRun> {
        self.rows(side).filter_map(|row| Some((runs[row.run].of_all_devices, self.log(&row)?))).collect()
    }

    /// Whether a row of one side is a row of the other.
    pub fn is_of_one_row(&self) -> bool {
        let is_same =
            |one: &Observation, other: &Observation| one.is_copy_of(other) && one.own().is_some_and(|own| own.variance > 0.0);
        self.rows(0).any(|one| self.rows(1).any(|other| is_same(&one, &other)))
    }

    /// How far its runs lie apart; nothing where there is one a side.
    fn own_scatter(&self) -> Option<Scatter> {
        let (squares, degrees) = self.squares(|_| 1.0)?;
        let own: Vec<f64> = self.both().filter_map(|row| row.own.map(|own| own.variance)).collect();
        (degrees > 0.0 && !own.is_empty()).then(|| Scatter { variance: squares / degrees, degrees, own: stats::mean(&own) })
    }

    /// A side's figure: of several runs, their geometric mean.
    pub fn figure(&self, side: usize) -> Option<f64> {
        let figure = |row: Row| if self.by_time { row.time() } else { row.value() };
        let values: Vec<f64> = self.rows(side).filter_map(figure).collect();
        match values[..] {
            [one] => Some(one),
            _ if values.iter().all(|value| *value > 0.0) => {
                Some(stats::mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp())
            }
            _ => None,
        }
    }

    /// The sum of squares of runs about their side's mean, in units of what is expected of them, and degrees of freedom.
    fn squares(&self, expected: impl Fn(&Row) -> f64) -> Option<(f64, f64)> {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for side in 0..2 {
            let logs = self.logs(side)?;
            let mean = stats::mean(&logs);
            squares += logs.iter().zip(self.rows(side)).map(|(log, row)| (log - mean).powi(2) / expected(&row)).sum::<f64>();
            degrees += count(logs.len()) - 1.0;
        }
        Some((squares, degrees))
    }

    /// The effect, given how far figures move from run to run.
    pub fn effect(&self, pools: &Pools, runs: [&[Run]; 2]) -> Result<Effect, &'static str> {
        let class = self.class();
        if let Some(effect) = self.paired(class, pools, runs) {
            return Ok(effect);
        }
        let (change, undecided) = (self.change(class, pools, runs)?, self.undecided(class));
        let is_borrowed = pools.get(&class).is_none_or(|pool| pool.measured.is_none());
        if let Some(taken) = self.taken_out() {
            // What is borrowed for rows as they are is not for those at one clock.
            let measured = Self::as_measured(self.cases).change(class, &Pools::new(), runs)?;
            // The sentinel may be disturbed alone: what it takes out excuses a change, and makes none.
            let is_made = taken.source() == ClockSource::Sentinel && change.log.abs() > measured.log.abs();
            let made = if is_made { change.log - measured.log } else { 0.0 };
            let doubt = Spread { variance: made.powi(2), degrees: f64::INFINITY };
            let change = Change { spread: sum([change.spread, taken.unknown, doubt]), ..change };
            return Ok(Effect { change, measured, class, is_at_clock: true, is_borrowed, undecided });
        }
        let rows = [0, 1].map(|side| self.rows(side).map(|row| row.row).collect::<Vec<_>>());
        let of_clock = match self.clock {
            ClockPart::Own => Spread::default(),
            _ => core_clock::unmeasured([&rows[0], &rows[1]], class),
        };
        let change = Change { spread: sum([change.spread, of_clock]), ..change };
        Ok(Effect { change, measured: change, class, is_at_clock: false, is_borrowed, undecided })
    }

    fn change(&self, class: Repeatability, pools: &Pools, runs: [&[Run]; 2]) -> Result<Change, &'static str> {
        let logs = [self.logs(0), self.logs(1)].map(|logs| logs.filter(|logs| !logs.is_empty()));
        let [Some(base), Some(new)] = logs else { return Err("a figure that isn't above zero has no ratio") };
        if self.both().any(|row| row.own.is_none()) {
            return Err("a row has too few rounds to tell how far its figure may be off");
        }
        let pool = pools.get(&class).copied().unwrap_or_else(|| BetweenRuns::borrowed(class, 1));
        let expected = sum(self.parts(&pool));
        let (inflation, degrees) = self.inflation(&pool, expected.degrees);
        let scattered = Spread { variance: expected.variance * inflation, degrees };
        let of_timer = self.of_timer(runs).map(|variance| Spread { variance, degrees: f64::INFINITY });
        Ok(Change {
            log: stats::mean(&new) - stats::mean(&base),
            spread: sum([scattered].into_iter().chain(of_timer)),
            moved: self.moved(&pool) * pool.scale * inflation,
        })
    }

    /// What is expected: each run moved by itself, but by an amount that a case has for all of them; and what each run shows itself.
    fn parts(&self, pool: &BetweenRuns) -> Vec<Spread> {
        let rows = || (0..2).flat_map(|side| self.rows(side).map(move |row| (row, count(self.rows(side).count()).powi(-2))));
        let moved = self.moved(pool);
        let own = rows().filter_map(|(row, part)| pool.own(&row).map(|own| Spread { variance: own.variance * part, ..own }));
        let parts = std::iter::once(Spread { variance: moved, degrees: OF_BORROWED }).chain(own);
        parts.map(|part| Spread { variance: part.variance * pool.scale, ..part }).collect()
    }

    fn moved(&self, pool: &BetweenRuns) -> f64 {
        let of = |side: usize| {
            self.rows(side).map(|row| pool.spread(&row).variance).sum::<f64>() / count(self.rows(side).count()).powi(2)
        };
        (0..2).map(of).sum()
    }

    /// By how much replicates scatter more or less than was expected, as far as so few tell, and how many degrees of freedom the
    /// product has: the expectation counts as much as its own degrees.
    fn inflation(&self, pool: &BetweenRuns, expected: f64) -> (f64, f64) {
        let of_row = |row: &Row| pool.spread(row).variance + pool.own(row).map_or(0.0, |own| own.variance);
        match self.squares(|row| pool.scale * of_row(row)) {
            Some((squares, replicates)) if replicates > 0.0 => {
                ((expected + squares) / (expected + replicates), expected + replicates)
            }
            _ => (1.0, expected),
        }
    }

    /// What the timer adds: its step on each side, and the share of its floor where the sides' batches differ.
    fn of_timer(&self, runs: [&[Run]; 2]) -> Option<f64> {
        let first = |side: usize| {
            let row = self.rows(side).next()?;
            Some((row.time().filter(|time| *time > 0.0)?, count(usize::try_from(row.batch?.get()).ok()?), &runs[side][row.run]))
        };
        let (base, new) = (first(0)?, first(1)?);
        let step = |(time, batch, run): (f64, f64, &Run)| (run.step.unwrap_or(0.0) / (time * batch)).powi(2) / 12.0;
        let share = |(time, batch, run): (f64, f64, &Run)| run.floor.unwrap_or(0.0) / (time * batch);
        let floor = if base.1 == new.1 { 0.0 } else { (share(base) - share(new)).powi(2) / 3.0 };
        Some(step(base) + step(new) + floor)
    }

    /// The ratio that a row has itself, where its case was measured alternately with the base's.
    fn paired(&self, class: Repeatability, pools: &Pools, runs: [&[Run]; 2]) -> Option<Effect> {
        let only = |side: usize| self.rows(side).next().filter(|_| self.rows(side).count() == 1);
        let (base, new) = (only(0)?, only(1)?);
        let device = &runs[0][base.run].device;
        let pair = new.pair().filter(|pair| base.file == new.file && pair.has_base(&self.cases[0].case_id, device))?;
        let pool = pools.get(&class).copied().unwrap_or_else(|| BetweenRuns::borrowed(class, 1));
        let spread = sum([pair.spread?, pool.spread(&new)]);
        let change = Change { log: -pair.ratio.ln(), spread, moved: pool.spread(&new).variance };
        let undecided = self.undecided(class);
        Some(Effect { change, measured: change, class, is_at_clock: false, is_borrowed: pool.measured.is_none(), undecided })
    }

    fn undecided(&self, class: Repeatability) -> Option<String> {
        let rows = || self.both();
        if let Some(flag) = [Flag::Implausible, Flag::NearFloor].into_iter().find(|flag| rows().any(|row| row.has_flag(*flag)))
        {
            return Some(format!("a row that is {flag} decides nothing"));
        }
        if TIMERS.contains(&&*self.cases[0].kind.experiment) {
            return Some("it is the timer's, whose samples aren't those of passes".to_owned());
        }
        if rows().any(|row| row.is_early) {
            return Some("measuring ended early".to_owned());
        }
        let processes = |side: usize| self.rows(side).map(|row| row.processes()).sum::<u64>();
        let fewest = processes(0).min(processes(1));
        (class.needs_processes() && fewest < ENOUGH_PROCESSES).then(|| {
            let why = if class == Repeatability::Host { "the host times it" } else { "it depends on where its buffers lie" };
            format!("{why}: it takes {ENOUGH_PROCESSES} processes a side, as `run --preset study` has")
        })
    }
}

impl Row<'_> {
    /// How far figures of a class are known to move between runs like that of the row.
    fn borrowed(&self, class: Repeatability) -> f64 {
        match self.is_at_clock {
            true => class.between_runs_at_clock(self.processes()),
            false => class.between_runs(self.processes()),
        }
    }
}

impl Pair {
    /// Whether it is the pair of this case: on this device, where the row names one; else on its own.
    fn has_base(&self, case_id: &str, device: &str) -> bool {
        self.base.split_once('@').map_or(self.base == case_id, |(case, own)| case == case_id && own == device)
    }
}

/// How far figures move from run to run, for each class that comes up: told by replicates where they are enough, else borrowed.
pub fn pools<'m>(cases: impl Iterator<Item = &'m Matched<'m>>) -> Pools {
    let mut by_class: BTreeMap<Repeatability, Vec<&Matched>> = BTreeMap::new();
    for case in cases {
        by_class.entry(case.class()).or_default().push(case);
    }
    by_class.into_iter().map(|(class, cases)| (class, pool(class, &cases))).collect()
}

fn pool(class: Repeatability, cases: &[&Matched]) -> BetweenRuns {
    let rows = || cases.iter().flat_map(|case| case.both());
    let within = Prior::of(rows().filter_map(|row| row.own.map(|own| (own.variance, own.degrees))));
    let deviation = rows().map(|row| row.borrowed(class)).reduce(f64::max).unwrap_or(class.between_runs(1));
    let is_at_clock = cases.iter().any(|case| case.taken_out().is_some());
    let borrowed = BetweenRuns { class, deviation, measured: None, is_at_clock, scale: 1.0, within };
    let alike = cases.iter().filter(|case| case.taken_out().is_some() == is_at_clock);
    let scatters: Vec<Scatter> = alike.filter_map(|case| case.own_scatter()).collect();
    let degrees: f64 = scatters.iter().map(|scatter| scatter.degrees).sum();
    if degrees < OF_POOL {
        return borrowed;
    }
    let deviation = between(&scatters, borrowed.deviation).max(LEAST_SPREAD);
    // All cases of a run may move as one: so few runs may be alike by luck, however many cases they have.
    if draws(cases) < FEWEST_DRAWS {
        return BetweenRuns { deviation: deviation.max(borrowed.deviation), measured: Some(degrees), ..borrowed };
    }
    let scale = scale(&scatters, deviation.powi(2) * SCALE_OF_BORROWED);
    BetweenRuns { deviation, measured: Some(degrees), scale, ..borrowed }
}

/// How many runs there are beyond the first of each side.
fn draws(cases: &[&Matched]) -> usize {
    let of_side = |side: usize| cases.iter().map(|case| case.rows(side).count()).max().unwrap_or(1).saturating_sub(1);
    of_side(0) + of_side(1)
}

/// How replicates scatter beside what is expected of them, as a share of the variance. Expectations are on the safe side, so that they
/// mostly scatter less; more is left to each case.
fn scale(scatters: &[Scatter], between: f64) -> f64 {
    let degrees: f64 = scatters.iter().map(|scatter| scatter.degrees).sum();
    if degrees < OF_SCALE {
        return 1.0;
    }
    let shares = scatters.iter().map(|scatter| (scatter.variance / (scatter.own + between)).min(JUMP) * scatter.degrees);
    (shares.sum::<f64>() / degrees).clamp(LEAST_SCALE, 1.0)
}

/// How far the runs of a case lie apart.
struct Scatter {
    /// The variance of runs about their side's mean, and its degrees of freedom.
    variance: f64,
    degrees: f64,
    /// The variance that runs show themselves.
    own: f64,
}

/// What lies between runs, as a standard deviation, from cases of which each shows it beside its own noise: those that are measured well
/// count most. Found by trying again with what was found; a case that jumps counts for no more than [`JUMP`] times what is expected.
fn between(scatters: &[Scatter], first: f64) -> f64 {
    let better = |variance: f64| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for Scatter { variance: scattered, degrees, own } in scatters {
            let expected = own + variance;
            let weight = degrees / expected.powi(2);
            sum += weight * (scattered.min(JUMP * expected) - own);
            weights += weight;
        }
        (sum / weights).max(LEAST_SPREAD.powi(2))
    };
    (0..TRIES).fold(first.powi(2), |variance, _| better(variance)).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs, rows or passes")]
fn count(items: usize) -> f64 {
    items as f64
}
