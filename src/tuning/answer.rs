//! What follows from the configurations that were measured: the best, those as good, what was gained, and what matters.

mod effects;
mod joint;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::ending::{Ending, Figure, Obstacle, Outcome, ROUGHEST, quotient};
use super::space::Space;
use crate::model::{Failure, Point};
use crate::stats::{Interval, Ratio, normal_bound};

pub use effects::{AxisEffect, Loss};

/// How sure it is that none is called slower that isn't.
const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Its time, ns: the median of its rounds' medians.
    #[serde(rename = "time_ns")]
    pub time: f64,
    /// The ends of the 95 % interval of that time, ns.
    #[serde(rename = "ci_low_ns")]
    pub low: f64,
    #[serde(rename = "ci_high_ns")]
    pub high: f64,
    /// Whether it was measured in as many rounds as an interval needs; not where the search alone looked at it, or was broken off.
    pub is_precise: bool,
}

impl Timing {
    pub fn precise(time: f64, Interval { low, high }: Interval) -> Self {
        Self { time, low, high, is_precise: true }
    }

    pub fn rough(time: f64, interval: Interval) -> Self {
        Self { is_precise: false, ..Self::precise(time, interval) }
    }

    /// Half the interval over the time.
    pub fn noise(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.time
    }

    /// Its ratio to another time with the 95 % interval, from the intervals of both: their halves, as logarithms, add as squares do
    /// (Zou and Donner, Construction of confidence limits about effect measures: a general approach, Statistics in Medicine 27,
    /// 2008). Times that weren't taken alternately share no disturbance that would cancel, so nothing is lost by it.
    pub fn over(&self, base: &Self) -> Ratio {
        self.over_stretched(base, 1.0)
    }

    /// The same, as one of so many comparisons with the best of all: at its lower end with intervals that are as much surer.
    pub(super) fn over_as_one_of(&self, base: &Self, comparisons: usize) -> Ratio {
        Ratio { low: self.over_stretched(base, stretch(comparisons)).low, ..self.over(base) }
    }

    /// The same, both intervals being stretched as if they were surer.
    fn over_stretched(&self, base: &Self, factor: f64) -> Ratio {
        let halves = |timing: &Self| {
            let [down, up] = [timing.time / timing.low.max(0.0), timing.high / timing.time];
            [down.ln().max(0.0) * factor, up.ln().max(0.0) * factor]
        };
        let ([own_down, own_up], [base_down, base_up]) = (halves(self), halves(base));
        let value = self.time / base.time;
        Ratio { value, low: value * (-own_down.hypot(base_up)).exp(), high: value * own_up.hypot(base_down).exp() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub point: Point,
    pub outcome: Result<Timing, Failure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    #[serde(serialize_with = "as_map")]
    pub point: Point,
    #[serde(flatten)]
    pub timing: Timing,
    pub ratio: Ratio,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    #[serde(serialize_with = "as_map")]
    pub point: Point,
    /// What it takes; nothing where it failed or wasn't measured.
    pub timing: Option<Timing>,
    pub failure: Option<String>,
    /// How many times as fast as the default the best is.
    pub gain: Option<Ratio>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flatness {
    pub measured: usize,
    pub configurations: usize,
    pub within_5_percent: usize,
    pub within_10_percent: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    pub outcome: Outcome,
    /// The configuration to take: the fastest, or of several that are as good the simplest to use. The fastest so far where this
    /// machine can't tell.
    pub best: Placed,
    /// The others that weren't shown to be slower, the fastest first. Their ratios are over the fastest.
    pub tied: Vec<Placed>,
    /// The one that comes nearest of those that were shown to be slower.
    pub next: Option<Placed>,
    /// How many the search found within reach of the fastest, beyond those that were measured beside each other.
    pub cut: usize,
    /// The others, which were slower in the search, and weren't measured beside the fastest.
    pub behind: Option<Behind>,
    pub default: Option<Beside>,
    pub axes: Vec<AxisEffect>,
    /// The share of the variance that no sum over the axes explains: what they do together, and noise.
    pub together: Option<f64>,
    pub flatness: Flatness,
    /// By status.
    pub failures: BTreeMap<&'static str, Failed>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    pub count: usize,
    /// The first of them, and why it failed.
    #[serde(serialize_with = "as_map")]
    pub first: Point,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behind {
    pub count: usize,
    /// The one that came nearest.
    #[serde(serialize_with = "as_map")]
    pub nearest: Point,
    /// Its time over the fastest's, in the search's few rounds.
    pub over: f64,
}

/// What was measured of those that may be the best.
pub struct Finale<'f> {
    /// Of those that were measured beside each other.
    pub figures: &'f [Figure],
    /// How many more might have been.
    pub cut: usize,
    /// Of those that were slower in the search the one that came nearest, and its time over the fastest's there, where that is known.
    pub nearest: Option<(Point, f64)>,
}

impl Answer {
    /// What follows from trials, of which each configuration has one; nothing where none has a time. The default configuration may lie
    /// beside the space.
    pub fn new(space: &Space, trials: &[Trial], finale: Finale, default: Option<&Point>) -> Option<Self> {
        let Finale { figures, cut, nearest } = finale;
        let timed: Vec<(&Point, &Timing)> = trials.iter().filter_map(|trial| Some((&trial.point, trial.timing()?))).collect();
        let figures: Vec<Figure> = figures.iter().filter(|figure| is_time(&figure.timing)).cloned().collect();
        let ending = Ending::of(&figures, default);
        let is_only = timed.len() == 1 && trials.len() >= space.len();
        let (outcome, best) = match &ending {
            // There is no other that it would have to be measured beside.
            Some(Ending { outcome: Outcome::CantTell(Obstacle::TooFewRounds), chosen, .. })
                if is_only && figures[*chosen].timing.noise() <= ROUGHEST =>
            {
                (Outcome::ThisOne, &figures[*chosen])
            }
            Some(ending) => (ending.outcome, &figures[ending.chosen]),
            // Ended before any was measured beside others.
            None => (Outcome::CantTell(Obstacle::TooFewRounds), &fastest_figure(&timed)?),
        };
        let placed = |i: usize, ratio: Ratio| {
            let Figure { point, timing, .. } = &figures[i];
            Placed { point: point.clone(), timing: *timing, ratio }
        };
        let (mut tied, mut next) = (Vec::new(), None);
        let mut ratio = Ratio::ONE;
        if let Some(ending) = &ending {
            let base = &figures[ending.fastest].timing;
            let compared = |(i, ratio): (usize, Option<Ratio>)| (i, ratio.unwrap_or_else(|| figures[i].timing.over(base)));
            let all = [(ending.fastest, Some(Ratio::ONE))].into_iter().chain(ending.tied.iter().copied()).map(compared);
            let (own, others): (Vec<_>, Vec<_>) = all.partition(|(i, _)| *i == ending.chosen);
            ratio = own.first().map_or(Ratio::ONE, |(_, ratio)| *ratio);
            tied = others.into_iter().map(|(i, ratio)| placed(i, ratio)).collect();
            next = ending.next.map(|(i, ratio)| placed(i, ratio));
        }
        let (axes, together) = effects::effects(space, trials, &best.point, &best.timing);
        let default = default.map(|default| beside(trials, &figures, default, best));
        let (flatness, failures) = (flatness(space, &timed, &best.timing), failures(trials));
        let behind = behind(&timed, &figures, cut, nearest, &best.timing);
        let best = Placed { point: best.point.clone(), timing: best.timing, ratio };
        Some(Self { outcome, best, tied, next, cut, behind, default, axes, together, flatness, failures })
    }

    /// Whether it may be relied on: not where this machine can't tell.
    pub fn is_told(&self) -> bool {
        !matches!(self.outcome, Outcome::CantTell(_))
    }
}

impl Beside {
    pub fn is_at(&self, point: &Point) -> bool {
        same_values(&self.point, point)
    }
}

impl Trial {
    fn timing(&self) -> Option<&Timing> {
        self.outcome.as_ref().ok().filter(|timing| is_time(timing))
    }
}

fn is_time(timing: &Timing) -> bool {
    timing.time.is_finite() && timing.time > 0.0
}

/// The fastest by what the search saw of it.
fn fastest_figure(timed: &[(&Point, &Timing)]) -> Option<Figure> {
    let fastest = timed.iter().min_by(|a, b| a.1.time.total_cmp(&b.1.time).then_with(|| a.0.cmp(b.0)));
    let figure = |(point, timing): &(&Point, &Timing)| Figure {
        point: (*point).clone(),
        timing: **timing,
        timed: Vec::new(),
        disturbance: None,
    };
    fastest.map(figure)
}

/// By how much intervals are stretched for so many comparisons with the best.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
fn stretch(comparisons: usize) -> f64 {
    let single = normal_bound((1.0 - CONFIDENCE) / 2.0);
    (normal_bound((1.0 - CONFIDENCE) / comparisons.max(1) as f64) / single).max(1.0)
}

fn beside(trials: &[Trial], figures: &[Figure], default: &Point, best: &Figure) -> Beside {
    let trial = trials.iter().find(|trial| same_values(&trial.point, default));
    let timing = trial.and_then(Trial::timing);
    let failure = trial.and_then(|trial| trial.outcome.as_ref().err());
    let figure = figures.iter().find(|figure| same_values(&figure.point, default));
    let together = figure.and_then(|figure| quotient(figure, best, 1));
    let gain = match same_values(&best.point, default) {
        true => timing.map(|_| Ratio::ONE),
        false => together.or_else(|| timing.map(|timing| timing.over(&best.timing))),
    };
    Beside {
        point: default.clone(),
        timing: timing.copied(),
        failure: failure.map(|failure| format!("{}: {}", failure.status, failure.reason)),
        gain,
    }
}

/// Whether two points are the same, in whatever order.
pub fn same_values(a: &Point, b: &Point) -> bool {
    a.iter().count() == b.iter().count() && a.iter().all(|(axis, value)| b.get(axis) == Some(value))
}

fn flatness(space: &Space, timed: &[(&Point, &Timing)], best: &Timing) -> Flatness {
    let of_space: Vec<f64> =
        timed.iter().filter(|(point, _)| space.find(point).is_some()).map(|(_, timing)| timing.time).collect();
    let within = |factor: f64| of_space.iter().filter(|time| **time <= best.time * factor).count();
    let (within_5_percent, within_10_percent) = (within(1.05), within(1.1));
    Flatness { measured: of_space.len(), configurations: space.len(), within_5_percent, within_10_percent }
}

fn failures(trials: &[Trial]) -> BTreeMap<&'static str, Failed> {
    let mut failures = BTreeMap::new();
    for (point, failure) in trials.iter().filter_map(|trial| Some((&trial.point, trial.outcome.as_ref().err()?))) {
        let first = || Failed { count: 0, first: point.clone(), reason: failure.reason.clone() };
        failures.entry(failure.status.as_str()).or_insert_with(first).count += 1;
    }
    failures
}

/// Those that the search alone timed. Where its rounds aren't known, the one that comes nearest does so by its time.
fn behind(
    timed: &[(&Point, &Timing)],
    figures: &[Figure],
    cut: usize,
    nearest: Option<(Point, f64)>,
    best: &Timing,
) -> Option<Behind> {
    let is_beside = |point: &Point| figures.iter().any(|figure| same_values(&figure.point, point));
    let others: Vec<_> = timed.iter().filter(|(point, _)| !is_beside(point)).collect();
    let count = others.len().checked_sub(cut).filter(|count| *count > 0 && !figures.is_empty())?;
    let by_time = || {
        let (point, timing) = others.iter().min_by(|one, other| one.1.time.total_cmp(&other.1.time))?;
        Some(((*point).clone(), timing.time / best.time))
    };
    let (nearest, over) = nearest.or_else(by_time)?;
    Some(Behind { count, nearest, over })
}

fn as_map<S: Serializer>(point: &Point, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(point.iter())
}

#[cfg(test)]
mod tests;
