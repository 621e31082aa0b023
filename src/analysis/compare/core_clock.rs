//! The core's clock, taken out of a case's times. It moves by steps that neither a driver nor a shader has made, for many visits on end,
//! and one side may have more of them than the other.

use std::borrow::Cow;

use super::effect::Matched;
use super::observation::Observation;
use super::sides::Run;
use super::spread::{Spread, sum};
use crate::model::{CoreClocks, Repeatability};
use crate::record::{Record, round_clocks, round_medians};
use crate::stats;

/// The error of one reading of the clock, as a share: the steps of a counter of 32 ns are 0.014 % of an H100's chain.
const READING: f64 = 0.0002;

/// That of the sentinel's speed beside a row: 0.06 to 0.08 % from what the counters showed, in studies of an H100 that had both.
const SENTINEL: f64 = 0.0008;

/// Sides whose clocks are further apart, as a logarithm, ran at other clocks, and not at other steps of one. An H100's are four of 0.75 %.
const MOST_APART: f64 = 0.035;

/// How much a case's slope may be above 1 or below 0.
const SLOPES: (f64, f64) = (-0.05, 1.1);

/// Residuals beyond so many standard deviations count less: Huber, The Annals of Mathematical Statistics 35 (1964).
const HUBER: f64 = 1.5;
/// Standard deviations in a median absolute deviation.
const OF_MAD: f64 = 1.4826;
/// What rounds differ by at least: less is luck.
const LEAST_RESIDUAL: f64 = 0.000_02;
const TRIES: usize = 20;

/// How well a slope is known, in degrees of freedom.
const OF_SLOPE: f64 = 10.0;

/// What shows the core's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockSource {
    /// The device's counters, in MHz, beside each round.
    Counters,
    /// The sentinel's speed beside a row, in work a nanosecond: within one driver and kind of device, it goes with the clock.
    Sentinel,
}

impl ClockSource {
    pub const ALL: [Self; 2] = [Self::Counters, Self::Sentinel];
}

/// One round of a case with the core's clock beside it, in little memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockedRound {
    pub process: u32,
    /// The logarithms of its time, ns, and of the clock.
    time: f32,
    clock: f32,
    /// The standard deviation of the latter.
    error: f32,
}

/// The rounds of a row. Nothing where one has no clock.
#[expect(clippy::cast_possible_truncation, reason = "they are 0.0002 % off at most")]
pub fn clocked_rounds(record: &Record) -> Option<Box<[ClockedRound]>> {
    let clocks = round_clocks(&record.round_clocks_mhz);
    let times: Vec<(u32, f64)> = round_medians(&record.round_medians_ns)?;
    let round = |((process, time), clock): (&(u32, f64), &Option<CoreClocks>)| {
        let clocks = (*clock)?;
        let (CoreClocks { before, after }, mean) = (clocks, clocks.mean());
        // That of both readings, and of where between them the round was.
        let error = (READING.powi(2) / 2.0 + ((after - before) / mean).powi(2) / 12.0).sqrt();
        Some(ClockedRound { process: *process, time: time.ln() as f32, clock: mean.ln() as f32, error: error as f32 })
    };
    (!clocks.is_empty() && clocks.len() == times.len()).then(|| times.iter().zip(&clocks).map(round).collect()).flatten()
}

impl ClockedRound {
    /// A row as a whole, with the sentinel's speed beside it: both are medians over its rounds.
    #[expect(clippy::cast_possible_truncation, reason = "they are 0.0002 % off at most")]
    pub fn by_sentinel(time: f64, speed: f64) -> Self {
        Self { process: 0, time: time.ln() as f32, clock: speed as f32, error: SENTINEL as f32 }
    }

    fn time(&self) -> f64 {
        self.time.into()
    }

    pub fn clock(&self) -> f64 {
        self.clock.into()
    }

    fn variance(&self) -> f64 {
        f64::from(self.error).powi(2)
    }
}

/// By how much of the clock's change the speed of a case changes, and the variance of that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slope {
    value: f64,
    variance: f64,
}

impl Slope {
    /// As cases of its kind go: what computes or stays in workgroup memory goes with the clock, what streams doesn't. An H100 showed
    /// 0.97 to 1.03 of the first, -0.05 to 0.05 of the second, 0.4 to 0.8 of matrices and scans, 1, 0.5 and 0.25 of its levels of caches.
    fn usual(class: Repeatability, experiment: &str) -> Self {
        let family = experiment.split('/').next().unwrap_or_default();
        let (value, deviation): (f64, f64) = match (class, family) {
            (Repeatability::Memory, "memory" | "transfer" | "workgroup") => (0.0, 0.1),
            (Repeatability::Core, _) if family == "algo" || experiment.starts_with("peak/coopmat") => (0.75, 0.25),
            (Repeatability::Core, _) => (1.0, 0.05),
            _ => (0.5, 0.3),
        };
        Self { value, variance: deviation.powi(2) }
    }

    /// The same, once rows have shown how times go with the clock within each: across rows, a change would be taken for the clock's.
    fn shown_by(self, rows: &[&[ClockedRound]]) -> Self {
        let centred = |rounds: &&[ClockedRound]| {
            let mean = |of: fn(&ClockedRound) -> f64| stats::mean(&rounds.iter().map(of).collect::<Vec<_>>());
            let (time, clock) = (mean(ClockedRound::time), mean(ClockedRound::clock));
            let point = move |round: &ClockedRound| (round.clock() - clock, time - round.time(), round.variance());
            rounds.iter().map(point).collect::<Vec<_>>()
        };
        let points: Vec<(f64, f64, f64)> = rows.iter().flat_map(centred).collect();
        (0..TRIES).fold(self, |slope, _| self.fitted(&points, slope.value))
    }

    /// Weighted by how far each point is from a line of this slope. What readings are off by makes clocks look further apart than they are.
    fn fitted(self, points: &[(f64, f64, f64)], slope: f64) -> Self {
        let residual = |(clock, speed, _): &(f64, f64, f64)| speed - slope * clock;
        let sizes: Vec<f64> = points.iter().map(|point| residual(point).abs()).collect();
        let deviation = OF_MAD * stats::median(&sizes) + LEAST_RESIDUAL;
        let (mut squares, mut products) = (0.0, 0.0);
        for (point, size) in points.iter().zip(&sizes) {
            let (clock, speed, error) = *point;
            let weight = (HUBER * deviation / size.max(f64::MIN_POSITIVE)).min(1.0);
            squares += weight * (clock.powi(2) - error);
            products += weight * clock * speed;
        }
        let (shown, usual) = (squares.max(0.0) / deviation.powi(2), 1.0 / self.variance);
        let products = if squares > 0.0 { products / deviation.powi(2) } else { 0.0 };
        let value = (products + usual * self.value) / (shown + usual);
        Self { value: value.clamp(SLOPES.0, SLOPES.1), variance: 1.0 / (shown + usual) }
    }
}

/// What is added to the logarithm of a row's speed, and how far its figure may be off by itself then.
pub type RowAtClock = (f64, Option<Spread>);

/// A case's rows with the clock taken out.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenOut {
    /// What isn't known of what was taken out.
    pub unknown: Spread,
    source: ClockSource,
    rows: [Box<[RowAtClock]>; 2],
}

impl TakenOut {
    /// Nothing where nothing shows a row's clock, or where those of the sides are further apart than steps are: that is no step.
    pub fn of(sides: [&[&Observation]; 2], runs: [&[Run]; 2], (class, experiment): (Repeatability, &str)) -> Option<Self> {
        let of_counters = || rounds(sides, ClockSource::Counters);
        let of_sentinel = || rounds(sides, ClockSource::Sentinel).filter(|_| have_one_sentinel(sides, runs));
        let (source, [base, new]) = of_counters().or_else(of_sentinel)?;
        let all: Vec<&[ClockedRound]> = base.iter().chain(&new).map(|rounds| &**rounds).collect();
        let slope = Slope::usual(class, experiment).shown_by(&all);
        let mean = |rows: &[Cow<[ClockedRound]>]| {
            stats::mean(&rows.iter().flat_map(|rounds| rounds.iter().map(ClockedRound::clock)).collect::<Vec<_>>())
        };
        let clocks = [mean(&base), mean(&new)];
        if (clocks[1] - clocks[0]).abs() > MOST_APART {
            return None;
        }
        let adjusted =
            |rows: &[Cow<[ClockedRound]>]| rows.iter().map(|rounds| adjusted(rounds, slope.value, clocks[0])).collect();
        let of_readings = |rows: &[Cow<[ClockedRound]>]| {
            let errors: Vec<f64> = rows.iter().flat_map(|rounds| rounds.iter().map(ClockedRound::variance)).collect();
            stats::mean(&errors) / count(errors.len())
        };
        let variance =
            slope.variance * (clocks[1] - clocks[0]).powi(2) + slope.value.powi(2) * (of_readings(&base) + of_readings(&new));
        let rows = [adjusted(&base), adjusted(&new)];
        Some(Self { unknown: Spread { variance, degrees: OF_SLOPE }, source, rows })
    }

    pub fn source(&self) -> ClockSource {
        self.source
    }

    /// Adds what a case may have made of the clock itself, as a logarithm.
    pub fn doubt(&mut self, own: f64) {
        self.unknown = sum([self.unknown, Spread { variance: own.powi(2), degrees: f64::INFINITY }]);
    }

    pub fn row(&self, side: usize, place: usize) -> RowAtClock {
        self.rows[side].get(place).copied().unwrap_or_default()
    }
}

/// A side's rows by their rounds.
type ClockedRows<'s> = Vec<Cow<'s, [ClockedRound]>>;

/// The rounds of both sides by one source; nothing where it doesn't show a row's clock.
fn rounds<'s>(sides: [&[&'s Observation]; 2], source: ClockSource) -> Option<(ClockSource, [ClockedRows<'s>; 2])> {
    let of_side = |rows: &[&'s Observation]| rows.iter().map(|row| row.clocked_rounds(source)).collect::<Option<_>>();
    Some((source, [of_side(sides[0])?, of_side(sides[1])?]))
}

/// Whether the sentinel is the same work on both sides: another driver, or another version of it, may make other code of it.
fn have_one_sentinel(sides: [&[&Observation]; 2], runs: [&[Run]; 2]) -> bool {
    let mut all = (0..2).flat_map(|side| sides[side].iter().map(move |row| &runs[side][row.run]));
    all.next().is_some_and(|first| all.all(|other| other.has_code_of(first)))
}

/// How far the change of a case may be off for the clock where that wasn't measured, by the sentinel's speed beside it. Nothing for what
/// doesn't go with the core's clock, and where sentinels are further apart than steps are: on another device, or by another compiler, they
/// are other work.
pub fn unmeasured(sides: [&[&Observation]; 2], class: Repeatability) -> Spread {
    let speed = |rows: &[&Observation]| {
        let speeds: Option<Vec<f64>> = rows.iter().map(|row| row.sentinel_speed()).collect();
        speeds.filter(|speeds| !speeds.is_empty()).map(|speeds| stats::mean(&speeds))
    };
    // Of a case whose clock was measured and isn't taken out, what the clock made is its own.
    let is_measured = sides.iter().copied().flatten().all(|row| row.clocked_rounds(ClockSource::Counters).is_some());
    let change = speed(sides[1]).zip(speed(sides[0])).map_or(0.0, |(new, base)| new - base);
    let widens = class == Repeatability::Core && !is_measured && change.abs() <= MOST_APART;
    Spread { variance: if widens { change.powi(2) } else { 0.0 }, degrees: f64::INFINITY }
}

/// What is added to the logarithm of a row's speed so that it is that at another clock, and how far its rounds are apart then.
fn adjusted(rounds: &[ClockedRound], slope: f64, clock: f64) -> RowAtClock {
    let at_clock = |round: &ClockedRound| round.time() + slope * (round.clock() - clock);
    let median = |of: &dyn Fn(&ClockedRound) -> f64| stats::median(&rounds.iter().map(of).collect::<Vec<_>>());
    let added = median(&ClockedRound::time) - median(&at_clock);
    (added, Spread::of_logs(rounds.iter().map(|round| (round.process, at_clock(round)))))
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 rounds")]
fn count(rounds: usize) -> f64 {
    rounds as f64
}

/// The core's clock on two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideClocks {
    pub source: ClockSource,
    /// The medians: over rounds, MHz, or over rows, work a nanosecond.
    pub medians: [f64; 2],
    /// Whether the difference is taken out. Where it isn't, the clocks are further apart than steps are.
    pub is_taken_out: bool,
}

impl SideClocks {
    /// Those of cases whose clock is taken out; or where none has it taken out, of all, if they are too far apart for steps.
    pub fn of<'m>(cases: impl Iterator<Item = &'m Matched<'m>> + Clone) -> Option<Self> {
        let taken =
            |source: ClockSource| Self::medians(source, cases.clone().filter(|case| case.clock_source() == Some(source)));
        let found = ClockSource::ALL.into_iter().find_map(|source| Some((source, taken(source)?)));
        if let Some((source, medians)) = found {
            return Some(Self { source, medians, is_taken_out: true });
        }
        let medians = Self::medians(ClockSource::Counters, cases)?;
        let all = Self { source: ClockSource::Counters, medians, is_taken_out: false };
        (all.change().abs() > MOST_APART).then_some(all)
    }

    fn medians<'m>(source: ClockSource, cases: impl Iterator<Item = &'m Matched<'m>> + Clone) -> Option<[f64; 2]> {
        let of_side = |side: usize| {
            let rows = cases.clone().flat_map(move |case| case.rows(side));
            let clocks = |row: &Observation| -> Vec<f64> {
                row.clocked_rounds(source).iter().flat_map(|rounds| rounds.iter().map(ClockedRound::clock)).collect()
            };
            let clocks: Vec<f64> = rows.flat_map(|row| clocks(&row)).collect();
            (!clocks.is_empty()).then(|| stats::median(&clocks).exp())
        };
        Some([of_side(0)?, of_side(1)?])
    }

    /// By how much it differs, as a logarithm.
    pub fn change(&self) -> f64 {
        (self.medians[1] / self.medians[0]).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of two processes at these clocks, at which a case goes with the clock by this share and takes so long.
    fn rounds(clocks: &[f64], slope: f64, time: f64) -> Record {
        let process = |i: usize| i % 2 + 1;
        let times: Vec<String> = (0..)
            .zip(clocks)
            .map(|(i, mhz)| format!("{}:{}", process(i), time * (1980.0 / mhz).powf(slope) * (1.0 + 1e-5 * (i % 3) as f64)))
            .collect();
        let clocks: Vec<String> = (0..).zip(clocks).map(|(i, mhz)| format!("{}:{mhz}", process(i))).collect();
        Record { round_medians_ns: times.join(";"), round_clocks_mhz: clocks.join(";"), ..Record::new() }
    }

    fn slope(clocks: &[f64], real: f64, usual: Slope) -> Slope {
        let rounds = clocked_rounds(&rounds(clocks, real, 1e5)).unwrap();
        usual.shown_by(&[&rounds])
    }

    const MOVED: [f64; 6] = [1980.0, 1994.8, 1980.0, 1980.0, 1994.8, 2009.6];

    #[test]
    fn how_a_case_goes_with_the_clock_shows_where_that_moved() {
        for (real, class, experiment) in
            [(1.0, Repeatability::Core, "shared/tile"), (0.0, Repeatability::Memory, "memory/stream")]
        {
            let found = slope(&MOVED, real, Slope::usual(class, experiment));
            assert!((found.value - real).abs() < 0.01 && found.variance.sqrt() < 0.02, "{found:?}");
        }
        let half = slope(&MOVED, 0.5, Slope::usual(Repeatability::Core, "algo/matmul"));
        assert!((half.value - 0.5).abs() < 0.02, "the rounds are believed more than what is usual: {half:?}");
    }

    #[test]
    fn where_the_clock_stayed_the_usual_slope_stands() {
        let usual = Slope::usual(Repeatability::Memory, "cache/latency");
        let found = slope(&[1980.0; 6], 1.0, usual);
        assert!((found.value - usual.value).abs() < 1e-6 && (found.variance / usual.variance - 1.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn rounds_without_a_clock_have_nothing_taken_out() {
        let whole = rounds(&MOVED, 1.0, 1e5);
        assert_eq!(clocked_rounds(&whole).unwrap().len(), 6);
        for lacking in ["", "1:1980;2:;1:1980;2:1980;1:1980;2:1980", "1:1980"] {
            let row = Record { round_clocks_mhz: lacking.to_owned(), ..whole.clone() };
            assert_eq!(clocked_rounds(&row), None, "{lacking}");
        }
    }
}
