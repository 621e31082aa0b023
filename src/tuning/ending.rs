//! How a search ends: this one is the fastest, these can't be told apart, or this machine can't tell. Pure: it follows from the figures
//! that stand, and can be asked again without one that doesn't.

use serde::Serialize;

use super::answer::{Timing, Trial, same_values};
use crate::model::{AxisValue, Point};
use crate::stats::{Ratio, Timed};
use crate::subject::LOCAL_SIZE_AXES;

/// A time that is known less closely, as half its interval over it, is no answer.
pub(super) const ROUGHEST: f64 = 0.25;

/// What rounds that were taken for the answer tell of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub point: Point,
    pub timing: Timing,
    /// Its rounds; none where only its interval is known, as from a row.
    pub timed: Vec<Timed>,
    pub disturbance: Option<Obstacle>,
}

impl Figure {
    /// Of a configuration of which a time and its interval are known; nothing where a search alone looked at it.
    pub fn from_interval(trial: &Trial) -> Option<Self> {
        let timing = trial.outcome.as_ref().ok().filter(|timing| timing.is_precise)?;
        Some(Self { point: trial.point.clone(), timing: *timing, timed: Vec::new(), disturbance: None })
    }
}

/// Why a machine can't tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The search ended before those that may be the fastest were measured beside each other, often enough for an interval.
    TooFewRounds,
    /// Other processes had the processor.
    Contended,
    /// Clocks fell.
    Throttled,
    /// Times vary too much.
    TooRough,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every other one was shown to be slower.
    ThisOne,
    /// Those that weren't shown to be slower are as good.
    Alike,
    CantTell(Obstacle),
}

/// How a search ended, its configurations being told by their places among the figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub outcome: Outcome,
    /// The one to take: of several that are alike the simplest to use, else the fastest.
    pub chosen: usize,
    /// The fastest of all, which the others are compared with.
    pub fastest: usize,
    /// The others that weren't shown to be slower, the fastest first. Nothing is known of how one compares that has too few rounds.
    pub tied: Vec<(usize, Option<Ratio>)>,
    /// The one that comes nearest of those that were shown to be slower.
    pub next: Option<(usize, Ratio)>,
}

impl Ending {
    /// What follows from these figures; nothing from none. The default is the simplest to use.
    pub fn of(figures: &[Figure], default: Option<&Point>) -> Option<Self> {
        let by_time = |one: &usize, other: &usize| {
            let [one, other] = [one, other].map(|i| &figures[*i]);
            one.timing.time.total_cmp(&other.timing.time).then_with(|| one.point.cmp(&other.point))
        };
        let fastest = (0..figures.len()).min_by(by_time)?;
        let mut others: Vec<usize> = (0..figures.len()).filter(|i| *i != fastest).collect();
        others.sort_by(by_time);
        let compared: Vec<(usize, Option<Ratio>)> =
            others.iter().map(|i| (*i, quotient(&figures[*i], &figures[fastest], others.len()))).collect();
        let (slower, open): (Vec<_>, Vec<_>) =
            compared.into_iter().partition(|(_, quotient)| quotient.is_some_and(|quotient| quotient.is_slower()));
        let are_alike = open.iter().all(|(_, quotient)| quotient.is_some_and(|quotient| quotient.is_alike()));
        let candidates: Vec<usize> = [fastest].into_iter().chain(open.iter().map(|(i, _)| *i)).collect();
        let obstacle = obstacle(figures, &candidates).or((!are_alike).then_some(Obstacle::TooRough));
        let outcome = match obstacle {
            Some(obstacle) => Outcome::CantTell(obstacle),
            None if open.is_empty() => Outcome::ThisOne,
            None => Outcome::Alike,
        };
        let simplest = candidates.into_iter().min_by_key(|i| complexity(&figures[*i].point, default));
        let chosen = simplest.filter(|_| outcome == Outcome::Alike).unwrap_or(fastest);
        let next = slower.into_iter().find_map(|(i, quotient)| Some((i, quotient?)));
        Some(Self { outcome, chosen, fastest, tied: open, next })
    }
}

/// How many times as long as the base one takes: by their common rounds, or by their intervals where rounds aren't known.
pub fn quotient(own: &Figure, base: &Figure, comparisons: usize) -> Option<Ratio> {
    match own.timed.is_empty() && base.timed.is_empty() {
        true => Some(own.timing.over_as_one_of(&base.timing, comparisons)),
        false => Ratio::of(&own.timed, &base.timed, comparisons),
    }
}

/// What keeps the fastest, or one that may be, from being believed.
fn obstacle(figures: &[Figure], candidates: &[usize]) -> Option<Obstacle> {
    let of = |i: &usize| {
        let Figure { timing, disturbance, .. } = &figures[*i];
        let too_few = (!timing.is_precise).then_some(Obstacle::TooFewRounds);
        let too_rough = (timing.noise().is_nan() || timing.noise() > ROUGHEST).then_some(Obstacle::TooRough);
        too_few.or(*disturbance).or(too_rough)
    };
    candidates.iter().filter_map(of).min()
}

/// By how many axes a configuration differs from the default, how large its workgroup is, and its values: the least is the simplest.
fn complexity<'p>(point: &'p Point, default: Option<&Point>) -> (usize, u64, &'p Point) {
    let differs = |(axis, value): &(&str, &AxisValue)| default.is_some_and(|default| default.get(axis) != Some(*value));
    let is_default = default.is_some_and(|default| same_values(point, default));
    let differing = if is_default { 0 } else { point.iter().filter(differs).count() };
    let extent = |axis: &&str| match point.get(axis) {
        Some(AxisValue::Integer(extent)) => *extent,
        _ => 1,
    };
    (differing, LOCAL_SIZE_AXES.iter().map(extent).fold(1, u64::saturating_mul), point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn at(x: u64, unroll: u64) -> Point {
        Point::new([("local_size_x".into(), x.into()), ("UNROLL".into(), unroll.into())])
    }

    /// Nine rounds that all take about so long, which are disturbed alike, but for half a percent.
    fn figure(point: Point, time: f64) -> Figure {
        let own = u32::try_from(point.integer("local_size_x") / 32).unwrap();
        let noise = |i: u32| 0.001 * f64::from(((i + 1) * (i + own) * (own + 3) + i * own) % 7);
        let disturbed = |i: u32| (1.0 + 0.1 * f64::from(i % 3)) * (1.0 + noise(i));
        let times: Vec<f64> = (0..9).map(|i| time * disturbed(i)).collect();
        let timed = (1..).zip(&times).map(|(round, time)| Timed { round, process: 1, time: *time }).collect();
        let timing = Timing::precise(1.1 * time, Interval { low: time, high: 1.2 * time });
        Figure { point, timing, timed, disturbance: None }
    }

    fn of(figures: &[Figure]) -> Ending {
        Ending::of(figures, Some(&at(64, 1))).unwrap()
    }

    #[test]
    fn the_next_one_stands_where_the_best_does_not() {
        let mut figures = vec![figure(at(32, 1), 100.0), figure(at(64, 1), 130.0), figure(at(128, 1), 110.0)];
        let ending = of(&figures);
        assert_eq!((ending.outcome, ending.chosen, ending.next.map(|(i, _)| i)), (Outcome::ThisOne, 0, Some(2)));
        // Their intervals overlap: it is the common rounds that tell.
        assert!(figures[0].timing.high > figures[2].timing.low);
        figures.remove(0);
        assert_eq!((of(&figures).outcome, of(&figures).chosen), (Outcome::ThisOne, 1));
        figures.clear();
        assert_eq!(Ending::of(&figures, None), None);
    }

    #[test]
    fn of_those_that_are_alike_the_simplest_is_taken() {
        let named = |points: &[Point]| {
            let figures: Vec<Figure> =
                (0..).zip(points).map(|(i, point)| figure(point.clone(), 100.0 + 0.02 * f64::from(i))).collect();
            let ending = of(&figures);
            assert_eq!(
                (ending.outcome, ending.fastest, ending.tied.len()),
                (Outcome::Alike, 0, points.len() - 1),
                "{ending:?}"
            );
            points[ending.chosen].to_string()
        };
        // The default; what differs from it in one axis; the smallest workgroup.
        assert_eq!(named(&[at(32, 4), at(128, 1), at(64, 1)]), at(64, 1).to_string());
        assert_eq!(named(&[at(32, 4), at(128, 1), at(64, 8)]), at(64, 8).to_string());
        assert_eq!(named(&[at(256, 1), at(128, 1)]), at(128, 1).to_string());
    }

    #[test]
    fn what_keeps_a_machine_from_telling_is_said() {
        let with = |change: fn(&mut Figure)| {
            let mut figures = [figure(at(32, 1), 100.0), figure(at(64, 1), 110.0)];
            change(&mut figures[0]);
            of(&figures).outcome
        };
        assert_eq!(with(|_| {}), Outcome::ThisOne);
        let told = |obstacle| Outcome::CantTell(obstacle);
        assert_eq!(with(|figure| figure.timing.is_precise = false), told(Obstacle::TooFewRounds));
        assert_eq!(with(|figure| figure.disturbance = Some(Obstacle::Contended)), told(Obstacle::Contended));
        assert_eq!(with(|figure| figure.disturbance = Some(Obstacle::Throttled)), told(Obstacle::Throttled));
        assert_eq!(with(|figure| figure.timing.high = 200.0), told(Obstacle::TooRough));
        // The rounds in common are too few.
        assert_eq!(with(|figure| figure.timed.truncate(5)), told(Obstacle::TooRough));
        // That another one, which is slower for sure, was disturbed doesn't matter.
        let slower = Figure { disturbance: Some(Obstacle::Contended), ..figure(at(64, 1), 200.0) };
        assert_eq!(of(&[figure(at(32, 1), 100.0), slower]).outcome, Outcome::ThisOne);
    }
}
