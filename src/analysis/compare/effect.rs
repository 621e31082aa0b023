//! How many times as fast a case is on the other side, and how far that may be off.
//!
//! The unit of replication is the run: fresh processes with other allocations. A run's own rounds show only a part of its error; the
//! rest is what figures move from run to run, borrowed by class where runs aren't repeated.

use std::collections::BTreeMap;

use super::observation::Observation;
use super::sides::{Run, SideCase};
use super::spread::{Spread, sum};
use super::verdict::Change;
use crate::model::{Flag, Repeatability};
use crate::stats;

/// How well a borrowed spread holds for a single case, in degrees of freedom: cases of one class move by different amounts.
const OF_BORROWED: f64 = 10.0;

/// Pooled degrees of freedom from which on replicates replace what is borrowed.
const OF_POOL: f64 = 10.0;

/// The least that a pool says: nothing is known better than a fiftieth of a percent.
const LEAST_SPREAD: f64 = 0.0002;

/// Processes on each side from which on a case that depends on where its buffers lie is decided.
const ENOUGH_PROCESSES: u64 = 6;

/// A case on both sides: the rows that count, and how they are read.
pub struct Matched<'s> {
    /// The case on each side.
    pub cases: [&'s SideCase; 2],
    /// Those of its rows that have a figure.
    pub rows: [Vec<&'s Observation>; 2],
    /// Whether times are compared, for want of figures of one unit.
    by_time: bool,
    /// 1 where more is better, -1 where less is.
    sign: f64,
}

/// What is known of a case's change.
#[derive(Clone, Debug)]
pub struct Effect {
    /// How many times as fast, as a logarithm, and how far that may be off.
    pub change: Change,
    /// How it moves from run to run.
    pub class: Repeatability,
    /// The change of the clock beside the case, as a logarithm, where the sentinel tells it.
    pub clock: Option<f64>,
    /// The change of the core clock as the vendor's interface tells it.
    pub core_clock: Option<f64>,
    /// Why it decides nothing, whatever it is.
    pub undecided: Option<String>,
}

/// How far figures of a class move from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    /// The standard deviation, as a share.
    pub deviation: f64,
    /// Pooled degrees of freedom of the replicates that told it; `None` where it is borrowed.
    pub measured: Option<f64>,
}

/// That of every class that comes up.
pub type Pools = BTreeMap<Repeatability, BetweenRuns>;

impl<'s> Matched<'s> {
    /// Of a case that has figures on both sides; their units may differ where times are compared.
    pub fn new(cases: [&'s SideCase; 2]) -> Self {
        let usable = |case: &'s SideCase| case.rows.iter().filter(|row| row.is_ok()).collect();
        let by_time = cases[0].unit != cases[1].unit;
        let sign = if by_time || cases[0].better.as_ref() == "lower" { -1.0 } else { 1.0 };
        Self { cases, rows: cases.map(usable), by_time, sign }
    }

    /// A row's figure as a logarithm that rises with speed.
    fn log(&self, row: &Observation) -> Option<f64> {
        let figure = if self.by_time { row.time } else { row.value };
        figure.filter(|figure| *figure > 0.0).map(|figure| self.sign * figure.ln())
    }

    /// The class that moves most.
    pub fn class(&self) -> Repeatability {
        let classes = self.rows.iter().flatten().map(|row| row.class);
        classes.max_by(|one, other| one.between_runs().total_cmp(&other.between_runs())).unwrap_or(Repeatability::Memory)
    }

    /// The logarithms of one side's runs.
    fn logs(&self, side: usize) -> Option<Vec<f64>> {
        self.rows[side].iter().map(|row| self.log(row)).collect()
    }

    /// A side's figure: of several runs, their geometric mean.
    pub fn figure(&self, side: usize) -> Option<f64> {
        let values: Vec<f64> = self.rows[side].iter().filter_map(|row| row.value).collect();
        match values[..] {
            [one] => Some(one),
            _ if values.iter().all(|value| *value > 0.0) => {
                Some(stats::mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp())
            }
            _ => None,
        }
    }

    /// The sum of squares of runs about their side's mean, in units of their own variance together with what lies between runs, and
    /// degrees of freedom.
    fn scatter(&self, between: f64) -> Option<(f64, f64)> {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for side in 0..2 {
            let logs = self.logs(side)?;
            let mean = stats::mean(&logs);
            for (log, row) in logs.iter().zip(&self.rows[side]) {
                squares +=
                    (log - mean).powi(2) / (between.powi(2) + row.own.map_or(0.0, |own| own.variance)).max(f64::MIN_POSITIVE);
            }
            degrees += count(logs.len()) - 1.0;
        }
        Some((squares, degrees))
    }

    /// The effect, given how far figures move from run to run.
    ///
    /// # Errors
    /// Why there is no ratio.
    pub fn effect(&self, pools: &Pools, runs: [&[Run]; 2]) -> Result<Effect, &'static str> {
        let class = self.class();
        if let Some(effect) = self.paired(class, pools) {
            return Ok(effect);
        }
        let logs = [self.logs(0), self.logs(1)].map(|logs| logs.filter(|logs| !logs.is_empty()));
        let [Some(base), Some(new)] = logs else { return Err("a figure that isn't above zero has no ratio") };
        if self.rows.iter().flatten().any(|row| row.own.is_none()) {
            return Err("a row has too few rounds to tell how far its figure may be off");
        }
        let between = deviation(pools, class);
        let clock = self.clock(runs);
        let mut parts = vec![self.borrowed(between)];
        parts.extend(self.own());
        let own = sum(parts.iter().copied());
        let (inflation, degrees) = self.inflation(between, own.degrees);
        let mut all = vec![Spread { variance: own.variance * inflation, degrees }];
        all.extend(self.of_timer(runs).map(|variance| Spread { variance, degrees: f64::INFINITY }));
        let change = Change { log: stats::mean(&new) - stats::mean(&base), spread: sum(all) };
        Ok(Effect { change, class, clock, core_clock: self.core_clock(), undecided: self.undecided(class) })
    }

    /// What is borrowed: each run of either side moved by itself, but by an amount that one class has for all.
    fn borrowed(&self, between: f64) -> Spread {
        let runs: f64 = self.rows.iter().map(|rows| 1.0 / count(rows.len())).sum();
        Spread { variance: between.powi(2) * runs, degrees: OF_BORROWED }
    }

    /// What runs show themselves: each counts for its part of its side's mean.
    fn own(&self) -> impl Iterator<Item = Spread> {
        self.rows.iter().flat_map(|rows| {
            let part = count(rows.len()).powi(-2);
            rows.iter().filter_map(move |row| row.own.map(|own| Spread { variance: own.variance * part, ..own }))
        })
    }

    /// By how much replicates scatter more or less than was expected, as far as so few tell, and how many degrees of freedom the
    /// product has: the expectation counts as much as its own degrees.
    fn inflation(&self, between: f64, degrees: f64) -> (f64, f64) {
        let weight = degrees.min(OF_BORROWED);
        match self.scatter(between) {
            Some((squares, replicates)) if replicates > 0.0 => {
                ((weight + squares) / (weight + replicates), weight + replicates)
            }
            _ => (1.0, degrees),
        }
    }

    /// What the timer adds: its step on each side, and the share of its floor where the sides' batches differ.
    fn of_timer(&self, runs: [&[Run]; 2]) -> Option<f64> {
        let first = |side: usize| {
            let row = self.rows[side].first()?;
            Some((row.time?, count(usize::try_from(row.batch?).ok()?), &runs[side][row.run]))
        };
        let (base, new) = (first(0)?, first(1)?);
        let step = |(time, batch, run): (f64, f64, &Run)| (run.step.unwrap_or(0.0) / (time * batch)).powi(2) / 12.0;
        let share = |(time, batch, run): (f64, f64, &Run)| run.floor.unwrap_or(0.0) / (time * batch);
        let floor = if base.1 == new.1 { 0.0 } else { (share(base) - share(new)).powi(2) / 3.0 };
        Some(step(base) + step(new) + floor)
    }

    /// How the clock changed beside the case: the sentinel's time at the start of each run, and what it was beside the case's visits.
    fn clock(&self, runs: [&[Run]; 2]) -> Option<f64> {
        let side = |side: usize| {
            let clocks: Option<Vec<f64>> =
                self.rows[side].iter().map(|row| Some((row.clock.0? / runs[side][row.run].sentinel?).ln())).collect();
            clocks.map(|clocks| stats::mean(&clocks)).filter(|clock| clock.is_finite())
        };
        Some(side(1)? - side(0)?)
    }

    fn core_clock(&self) -> Option<f64> {
        let side = |side: usize| {
            let clocks: Option<Vec<f64>> = self.rows[side].iter().map(|row| row.clock.1.map(f64::ln)).collect();
            clocks.map(|clocks| stats::mean(&clocks)).filter(|clock| clock.is_finite())
        };
        Some(side(1)? - side(0)?)
    }

    /// The ratio that a row has itself, where its case was measured alternately with the base's.
    fn paired(&self, class: Repeatability, pools: &Pools) -> Option<Effect> {
        let [base] = self.rows[0][..] else { return None };
        let [new] = self.rows[1][..] else { return None };
        let pair = new.pair.as_deref().filter(|pair| self.cases[0].is_base_of(pair) && base.file == new.file)?;
        let within = deviation(pools, class);
        let spread = sum([pair.spread?, Spread { variance: within.powi(2), degrees: OF_BORROWED }]);
        let change = Change { log: -pair.ratio.ln(), spread };
        Some(Effect { change, class, clock: None, core_clock: None, undecided: self.undecided(class) })
    }

    /// Why it decides nothing.
    fn undecided(&self, class: Repeatability) -> Option<String> {
        let rows = || self.rows.iter().flatten();
        if let Some(flag) = [Flag::Implausible, Flag::NearFloor].into_iter().find(|flag| rows().any(|row| row.has_flag(*flag)))
        {
            return Some(format!("a row that is {flag} decides nothing"));
        }
        if rows().any(|row| row.is_early) {
            return Some("measuring ended early".to_owned());
        }
        let processes = |rows: &Vec<&Observation>| rows.iter().map(|row| row.processes).sum::<u64>();
        let fewest = self.rows.iter().map(processes).min().unwrap_or(0);
        (class.needs_processes() && fewest < ENOUGH_PROCESSES).then(|| {
            let why = if class == Repeatability::Host { "the host times it" } else { "it depends on where its buffers lie" };
            format!("{why}: it takes {ENOUGH_PROCESSES} processes a side, as `run --preset study` has")
        })
    }
}

impl SideCase {
    /// Whether a row was measured alternately with this case.
    fn is_base_of(&self, pair: &super::observation::Pair) -> bool {
        let case = pair.base.split_once('@').map_or(pair.base.as_str(), |(case, _)| case);
        case == self.case_id.as_ref()
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
    let borrowed = BetweenRuns { deviation: class.between_runs(), measured: None };
    // In units of one squared: the scatter itself.
    let scatter = |case: &&Matched| {
        let own: Vec<f64> = case.rows.iter().flatten().filter_map(|row| row.own.map(|own| own.variance)).collect();
        let (mut squares, mut degrees) = (0.0, 0.0);
        for side in 0..2 {
            let logs = case.logs(side)?;
            let mean = stats::mean(&logs);
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            degrees += count(logs.len()) - 1.0;
        }
        (degrees > 0.0 && !own.is_empty()).then(|| (squares / degrees / median_of_chi(degrees) - stats::mean(&own), degrees))
    };
    let scatters: Vec<(f64, f64)> = cases.iter().filter_map(scatter).collect();
    let degrees: f64 = scatters.iter().map(|(_, degrees)| degrees).sum();
    if degrees < OF_POOL {
        return borrowed;
    }
    // The median: a few cases that jump say nothing of the others.
    let variance = stats::median(&scatters.iter().map(|(excess, _)| *excess).collect::<Vec<_>>());
    BetweenRuns { deviation: variance.max(0.0).sqrt().max(LEAST_SPREAD), measured: Some(degrees) }
}

/// The median of a chi-squared value over its degrees of freedom: Wilson and Hilferty, Proceedings of the National Academy of Sciences
/// 17 (1931), right to 3 % from one degree on.
fn median_of_chi(degrees: f64) -> f64 {
    (1.0 - 2.0 / (9.0 * degrees)).powi(3)
}

fn deviation(pools: &Pools, class: Repeatability) -> f64 {
    pools.get(&class).map_or(class.between_runs(), |pool| pool.deviation)
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 runs, rows or passes")]
fn count(items: usize) -> f64 {
    items as f64
}
