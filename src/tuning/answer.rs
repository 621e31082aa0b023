//! What follows from the configurations that were measured: the best, those as good, what was gained, and what matters.

mod effects;
mod joint;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::space::Space;
use crate::model::{Failure, Point};
use crate::stats::{Interval, normal_bound};

pub use effects::{AxisEffect, Loss};

/// How sure it is that the best is among those that are called tied.
const CONFIDENCE: f64 = 0.95;

/// A time that is known less closely, as half its interval over it, is no answer.
const ROUGHEST: f64 = 1.0;

/// A configuration that may take so many times as long as the best is not tied with it: too little is known of it.
const WIDEST: f64 = 1.5;

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
    /// Whether it was measured to the full precision; not where racing gave it up, or a budget was spent.
    pub is_precise: bool,
}

impl Timing {
    pub fn precise(time: f64, Interval { low, high }: Interval) -> Self {
        Self { time, low, high, is_precise: true }
    }

    pub fn rough(time: f64, interval: Interval) -> Self {
        Self { is_precise: false, ..Self::precise(time, interval) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub point: Point,
    pub outcome: Result<Timing, Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub value: f64,
    pub low: f64,
    /// The upper end of its interval; infinite, which JSON has no number for, where nothing bounds it.
    pub high: f64,
}

impl Ratio {
    /// The ratio of two times with its 95 % interval, from the intervals of both: their halves, as logarithms, add as squares do
    /// (Zou and Donner, Construction of confidence limits about effect measures: a general approach, Statistics in Medicine 27,
    /// 2008). Times that weren't taken alternately share no disturbance that would cancel, so nothing is lost by it.
    pub fn between(time: &Timing, base: &Timing) -> Self {
        Self::stretched(time, base, 1.0)
    }

    /// The same, both intervals being stretched as if they were surer.
    fn stretched(time: &Timing, base: &Timing, factor: f64) -> Self {
        let halves = |timing: &Timing| {
            let [down, up] = [timing.time / timing.low.max(0.0), timing.high / timing.time];
            [down.ln().max(0.0) * factor, up.ln().max(0.0) * factor]
        };
        let ([own_down, own_up], [base_down, base_up]) = (halves(time), halves(base));
        let value = time.time / base.time;
        Self { value, low: value * (-own_down.hypot(base_up)).exp(), high: value * own_up.hypot(base_down).exp() }
    }
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
    /// How many times as fast as the default the best is. The best is the least of many times, and so a little lucky.
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
    /// The fastest of those that were measured to the full precision; of all where none was.
    pub best: Placed,
    /// The others that may as well be the fastest, by what was measured; the fastest first.
    ///
    /// A configuration is tied where the interval of its time over the best's reaches down to 1. The interval is that of a comparison
    /// with the best of many (Hsu, Multiple Comparisons, 1996, chapter 4): one-sided, at a level of 5 % divided among all
    /// comparisons, and never less than a single two-sided one. Whether the plain intervals overlap would be
    /// too generous for two configurations, and too strict for hundreds, the best of which was lucky. Where the interval reaches to
    /// 1.5 as well, too little is known to call it tied: it counts as undecided.
    pub tied: Vec<Placed>,
    /// How many were measured to less than the full precision and can't be told from the best, or seem even faster.
    pub undecided: usize,
    pub default: Option<Beside>,
    pub axes: Vec<AxisEffect>,
    /// The share of the variance that no sum over the axes explains: what they do together, and noise.
    pub together: Option<f64>,
    pub flatness: Flatness,
    pub failures: BTreeMap<&'static str, usize>,
}

impl Answer {
    /// What follows from trials, of which each configuration has one; nothing where none has a time. The default configuration may
    /// lie beside the space.
    pub fn new(space: &Space, trials: &[Trial], default: Option<&Point>) -> Option<Self> {
        let timed: Vec<(&Point, &Timing)> = trials.iter().filter_map(|trial| Some((&trial.point, trial.timing()?))).collect();
        let (point, best) = best(&timed)?;
        let (tied, undecided) = tied(&timed, point, best);
        let (axes, together) = effects::effects(space, trials, point, best);
        let default = default.map(|default| beside(trials, default, best));
        let (flatness, failures) = (flatness(space, &timed, best), failures(trials));
        Some(Self { best: placed(point, best, best), tied, undecided, default, axes, together, flatness, failures })
    }

    /// Whether there is a best: not where the search ended before any was measured to the end, and their times are hardly known.
    pub fn is_told(&self) -> bool {
        self.best.timing.is_precise || self.flatness.measured == 1 || !self.is_rough()
    }

    pub fn is_rough(&self) -> bool {
        let Timing { time, low, high, .. } = self.best.timing;
        (high - low) / 2.0 > ROUGHEST * time
    }
}

impl Beside {
    pub fn is_at(&self, point: &Point) -> bool {
        same_values(&self.point, point)
    }
}

impl Trial {
    fn timing(&self) -> Option<&Timing> {
        self.outcome.as_ref().ok().filter(|timing| timing.time.is_finite() && timing.time > 0.0)
    }
}

fn best<'t>(timed: &[(&'t Point, &'t Timing)]) -> Option<(&'t Point, &'t Timing)> {
    let precise = timed.iter().filter(|(_, timing)| timing.is_precise);
    let fastest = |a: &&(&Point, &Timing), b: &&(&Point, &Timing)| a.1.time.total_cmp(&b.1.time).then_with(|| a.0.cmp(b.0));
    precise.min_by(fastest).or_else(|| timed.iter().min_by(fastest)).copied()
}

/// Those that can't be told from the best: the precise ones, and how many of the others.
fn tied(timed: &[(&Point, &Timing)], point: &Point, best: &Timing) -> (Vec<Placed>, usize) {
    let others = || timed.iter().filter(|(other, _)| *other != point);
    let (precise, rough): (Vec<_>, Vec<_>) = others().partition(|(_, timing)| timing.is_precise);
    let reaches = |timing: &Timing, factor: f64| Ratio::stretched(timing, best, factor).low <= 1.0;
    let factor = stretch(precise.len());
    let is_clear = |timing: &Timing| Ratio::between(timing, best).high < WIDEST;
    let (precise, vague): (Vec<_>, Vec<_>) =
        precise.into_iter().filter(|(_, timing)| reaches(timing, factor)).partition(|(_, timing)| is_clear(timing));
    let mut tied: Vec<Placed> = (precise.into_iter()).map(|(point, timing)| placed(point, timing, best)).collect();
    tied.sort_by(|a, b| a.timing.time.total_cmp(&b.timing.time).then_with(|| a.point.cmp(&b.point)));
    (tied, vague.len() + rough.into_iter().filter(|(_, timing)| reaches(timing, factor)).count())
}

/// By how much intervals are stretched for so many comparisons with the best.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
fn stretch(comparisons: usize) -> f64 {
    let single = normal_bound((1.0 - CONFIDENCE) / 2.0);
    (normal_bound((1.0 - CONFIDENCE) / comparisons.max(1) as f64) / single).max(1.0)
}

fn placed(point: &Point, timing: &Timing, best: &Timing) -> Placed {
    Placed { point: point.clone(), timing: *timing, ratio: same_or_ratio(timing, best) }
}

/// A configuration over itself is 1, whatever its interval.
fn same_or_ratio(timing: &Timing, base: &Timing) -> Ratio {
    if std::ptr::eq(timing, base) { Ratio { value: 1.0, low: 1.0, high: 1.0 } } else { Ratio::between(timing, base) }
}

fn beside(trials: &[Trial], default: &Point, best: &Timing) -> Beside {
    let trial = trials.iter().find(|trial| same_values(&trial.point, default));
    let timing = trial.and_then(Trial::timing);
    let failure = trial.and_then(|trial| trial.outcome.as_ref().err());
    Beside {
        point: default.clone(),
        timing: timing.copied(),
        failure: failure.map(|failure| format!("{}: {}", failure.status, failure.reason)),
        gain: timing.map(|timing| same_or_ratio(timing, best)),
    }
}

/// Whether two points are the same, in whatever order.
pub(super) fn same_values(a: &Point, b: &Point) -> bool {
    a.iter().count() == b.iter().count() && a.iter().all(|(axis, value)| b.get(axis) == Some(value))
}

fn flatness(space: &Space, timed: &[(&Point, &Timing)], best: &Timing) -> Flatness {
    let of_space: Vec<f64> =
        timed.iter().filter(|(point, _)| space.find(point).is_some()).map(|(_, timing)| timing.time).collect();
    let within = |factor: f64| of_space.iter().filter(|time| **time <= best.time * factor).count();
    let (within_5_percent, within_10_percent) = (within(1.05), within(1.1));
    Flatness { measured: of_space.len(), configurations: space.len(), within_5_percent, within_10_percent }
}

fn failures(trials: &[Trial]) -> BTreeMap<&'static str, usize> {
    let mut failures = BTreeMap::new();
    for failure in trials.iter().filter_map(|trial| trial.outcome.as_ref().err()) {
        *failures.entry(failure.status.as_str()).or_default() += 1;
    }
    failures
}

fn as_map<S: Serializer>(point: &Point, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(point.iter())
}

#[cfg(test)]
mod tests;
