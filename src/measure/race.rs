//! Who is beaten in a race. Pure, so that synthetic streams can test it.
//!
//! A case is beaten as soon as its interval lies wholly above that of another one: however long it is measured, it won't turn out
//! to be the fastest. Most cases of a search are far from the best, and a short visit shows it. The rule has to be wrong rarely
//! where it knows least:
//!
//! - After one round only the spread within a visit is known. It understates the error from visit to visit by 2 to 5 times. So the
//!   interval reaches twice five times that spread to either side, and 5 % at least: what a first visit finds differs by more
//!   than chance.
//! - After two to five rounds it is the range of the round medians, widened on both sides by so many times that range that it is as
//!   sure as the range of six is by itself. It reaches 1 % to either side at least, and what the spread within the visits alone
//!   would make it, the less the more there are: a noisy case whose few visits agree by chance shows its noise there.
//! - From six rounds on it is the interval that a row has.
//!
//! Two visits may agree by chance, and so may the samples of one. So no case counts as less noisy than the middle one of its block.

use std::collections::BTreeSet;

use super::Rounds;
use super::visit::FAR_SLOWER;
use crate::stats::{self, Interval, Ratio, Timed};

/// To how many times the spread within a single visit an interval reaches.
const REACH: f64 = 10.0;

/// How far the interval of a single visit reaches at least, and that of a few.
const LEAST_FIRST: f64 = 0.05;
const LEAST: f64 = 0.01;

/// By how many times itself the range of two, three, four and five rounds is widened on either side. With these it is about 2.8
/// standard deviations of its middle to either end, more for two rounds, whose range may be nothing. That of six is 2.6 by itself.
const WIDENING: [f64; 4] = [2.0, 0.75, 0.3, 0.15];

/// The median of the range of so many normal values, in standard deviations, from two on.
const RANGES: [f64; 4] = [0.954, 1.588, 1.978, 2.257];

/// The rounds up to which the spread from round to round is taken from the range.
const FEW: usize = WIDENING.len() + 1;

pub struct Race {
    intervals: Vec<Option<Interval>>,
}

impl Race {
    /// The race of these cases, those included that were beaten before: they tell how noisy the block is.
    pub fn new(runners: &[Rounds]) -> Self {
        let runners: Vec<Runner> = runners.iter().map(Runner::new).collect();
        let within = middle(runners.iter().filter_map(Runner::within));
        let block = Spread { within, between: middle(runners.iter().filter_map(Runner::between)) };
        Self { intervals: runners.iter().map(|runner| runner.interval(&block)).collect() }
    }

    /// The same race, the samples of each case carrying so much beside each of its passes at most, ns: its interval reaches down by that.
    #[must_use]
    pub fn carrying(mut self, left: &[f64]) -> Self {
        for (interval, left) in self.intervals.iter_mut().zip(left) {
            interval.iter_mut().for_each(|interval| interval.low -= left);
        }
        self
    }

    /// Where a case lies as far as is known; `None` for one without a positive time.
    pub fn interval(&self, case: usize) -> Option<Interval> {
        self.intervals[case]
    }

    /// Of these cases, the one that beats all that can be beaten: its interval ends lowest.
    pub fn leader(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        let ends = among.filter_map(|case| Some((case, self.intervals[case]?.high)));
        ends.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(case, _)| case)
    }

    /// Whether it takes so many times as long that no disturbance explains it.
    pub fn is_far_beaten(&self, case: usize, leader: usize) -> bool {
        let [case, leader] = [case, leader].map(|case| self.intervals[case]);
        case.zip(leader).is_some_and(|(case, leader)| case.low > FAR_SLOWER * leader.high)
    }

    pub fn is_beaten(&self, case: usize, leader: usize) -> bool {
        let [case, leader] = [case, leader].map(|case| self.intervals[case]);
        case.zip(leader).is_some_and(|(case, leader)| case.low > leader.high)
    }
}

/// Those of which more rounds may tell how they compare with the fastest, and that one: neither slower nor as good, as far as is known.
/// Each has its rounds, and whether it may have more.
pub fn open_comparisons(runners: &[(Vec<Timed>, bool)]) -> BTreeSet<usize> {
    let value = |(timed, _): &(Vec<Timed>, bool)| stats::median(&timed.iter().map(|timed| timed.time).collect::<Vec<_>>());
    let Some(best) = (0..runners.len()).min_by(|a, b| value(&runners[*a]).total_cmp(&value(&runners[*b]))) else {
        return BTreeSet::new();
    };
    let is_open = |i: &usize| {
        let quotient = Ratio::of(&runners[*i].0, &runners[best].0, runners.len() - 1);
        *i != best && runners[*i].1 && quotient.is_none_or(|quotient| quotient.is_open())
    };
    let mut open: BTreeSet<usize> = (0..runners.len()).filter(is_open).collect();
    // Without it there are no more rounds in common.
    match runners[best].1 && !open.is_empty() {
        true => open.insert(best),
        false => return BTreeSet::new(),
    };
    open
}

/// How much cases of a block vary within a visit, and from visit to visit: that of the middle one.
struct Spread {
    within: f64,
    between: f64,
}

struct Runner<'r> {
    rounds: &'r Rounds,
    medians: Vec<f64>,
}

impl<'r> Runner<'r> {
    fn new(rounds: &'r Rounds) -> Self {
        Self { rounds, medians: rounds.medians() }
    }

    /// The standard deviation within a visit over its median, of the middle one of the visits that tell it.
    fn within(&self) -> Option<f64> {
        let visits = self.rounds.samples.iter().filter(|samples| samples.len() > 1);
        let spreads: Vec<f64> = visits.map(|samples| deviation(samples) / stats::median(samples)).collect();
        Some(stats::median(&spreads)).filter(|spread| spread.is_finite())
    }

    /// The standard deviation from visit to visit over the median, as the range of the first ones tells.
    fn between(&self) -> Option<f64> {
        let few = &self.medians[..self.medians.len().min(FEW)];
        let (low, high) = range(few);
        let scale = RANGES.get(few.len().checked_sub(2)?)?;
        Some((high - low) / scale / stats::median(few)).filter(|spread| spread.is_finite())
    }

    fn interval(&self, block: &Spread) -> Option<Interval> {
        let value = stats::median(&self.medians);
        if !(value.is_finite() && value > 0.0) {
            return None;
        }
        let (low, high) = match self.medians.len() {
            0 => return None,
            1 => {
                let reach = 1.0 + (REACH * self.within().unwrap_or(0.0).max(block.within)).max(LEAST_FIRST);
                (value / reach, value * reach)
            }
            few if few <= FEW => {
                let (low, high) = range(&self.medians);
                let usual = block.between * RANGES[few - 2] * value;
                let wider = WIDENING[few - 2] * (high - low).max(usual);
                let reach = 1.0 + (REACH * self.within().unwrap_or(0.0) / visits(few)).max(LEAST);
                ((low - wider).min(value / reach), (high + wider).max(value * reach))
            }
            _ => return self.rounds.interval(),
        };
        Some(Interval { low, high })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few")]
fn visits(count: usize) -> f64 {
    count as f64
}

/// The middle one of some spreads; none is none.
fn middle(spreads: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = spreads.collect();
    if all.is_empty() { 0.0 } else { stats::median(&all) }
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[expect(clippy::cast_precision_loss, reason = "samples are few")]
fn deviation(values: &[f64]) -> f64 {
    let mean = stats::mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(samples: &[&[f64]]) -> Rounds {
        Rounds { samples: samples.iter().map(|visit| visit.to_vec()).collect(), processes: vec![1; samples.len()] }
    }

    fn close(found: Option<Interval>, low: f64, high: f64) -> bool {
        found.is_some_and(|found| (found.low - low).abs() < 1e-9 * low && (found.high - high).abs() < 1e-9 * high)
    }

    #[test]
    fn the_fewer_the_rounds_the_wider_the_interval() {
        // Within the first visit the deviation is 1 %.
        let visit: &[f64] = &[99.0, 100.0, 101.0];
        assert!(close(Race::new(&[rounds(&[visit])]).interval(0), 100.0 / 1.1, 110.0));
        assert!(close(Race::new(&[rounds(&[&[100.0]])]).interval(0), 100.0 / 1.05, 105.0), "one sample tells no spread");
        let of = |medians: &[f64]| {
            let samples: Vec<&[f64]> = medians.iter().map(std::slice::from_ref).collect();
            Race::new(&[rounds(&samples)]).interval(0)
        };
        assert!(close(of(&[98.0, 102.0]), 90.0, 110.0));
        assert!(close(of(&[98.0, 100.0, 102.0]), 95.0, 105.0));
        assert!(close(of(&[98.0, 100.0, 100.0, 102.0]), 96.8, 103.2));
        assert!(close(of(&[98.0, 100.0, 100.0, 100.0, 102.0]), 97.4, 102.6));
        assert!(close(of(&[98.0, 100.0, 100.0, 100.0, 100.0, 102.0]), 98.0, 102.0));
        assert!(close(of(&[100.0, 100.0]), 100.0 / 1.01, 101.0), "1 % at least");
        let agreeing = Race::new(&[rounds(&[visit, visit])]);
        assert!(close(agreeing.interval(0), 100.0 / 1.05, 105.0), "and what the visits' own spread tells");
    }

    #[test]
    fn no_case_counts_as_less_noisy_than_the_middle_one() {
        let noisy = || rounds(&[&[96.0, 100.0, 104.0]]);
        let race = Race::new(&[rounds(&[&[200.0, 200.0, 200.0]]), noisy(), noisy()]);
        assert!(close(race.interval(0), 200.0 / 1.4, 280.0));
        let noisy = || rounds(&[&[98.0], &[102.0]]);
        let race = Race::new(&[rounds(&[&[200.0], &[200.0]]), noisy(), noisy()]);
        assert!(close(race.interval(0), 184.0, 216.0));
    }

    #[test]
    fn beaten_is_what_lies_wholly_above_the_leader() {
        let race = Race::new(&[[100.0], [109.0], [111.0], [90.0]].map(|time| rounds(&[&time])));
        assert_eq!(race.leader(0..4), Some(3));
        let beaten = |leader| (0..4).map(|case| race.is_beaten(case, leader)).collect::<Vec<_>>();
        assert_eq!(beaten(3), [true, true, true, false], "94.5 is below 95.2");
        assert_eq!(race.leader(0..3), Some(0));
        assert_eq!(beaten(0), [false, false, true, false]);
    }

    #[test]
    fn what_samples_carry_beats_nobody() {
        // Intervals of 1 % to either side: 100 to 101, and 103 to 104, which may be what both samples carry.
        let cases = [100.0, 103.0].map(|time| rounds(&[&[time], &[time]]));
        assert!(Race::new(&cases).is_beaten(1, 0));
        assert!(Race::new(&cases).carrying(&[0.0, 0.5]).is_beaten(1, 0));
        assert!(!Race::new(&cases).carrying(&[0.0, 2.0]).is_beaten(1, 0));
    }

    #[test]
    fn what_is_open_stays_with_the_fastest() {
        let timed = |times: [f64; 6]| -> Vec<Timed> {
            (1..).zip(times).map(|(round, time)| Timed { round, process: 1, time }).collect()
        };
        let [best, slower, alike] = [[100.0; 6], [150.0; 6], [101.0, 99.0, 102.0, 99.0, 101.0, 100.5]].map(timed);
        let vague = timed([80.0, 150.0, 110.0, 90.0, 130.0, 120.0]);
        let open = |runners: &[(&Vec<Timed>, bool)]| {
            let runners: Vec<_> = runners.iter().map(|(timed, is_active)| ((*timed).clone(), *is_active)).collect();
            open_comparisons(&runners).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(open(&[(&best, true), (&slower, true), (&alike, true)]), [0; 0]);
        assert_eq!(open(&[(&best, true), (&slower, true), (&vague, true)]), [0, 2]);
        assert_eq!(open(&[(&best, true), (&vague, false)]), [0; 0], "it has left");
        assert_eq!(open(&[(&best, false), (&vague, true)]), [0; 0], "they have no more rounds in common");
        assert_eq!(open(&[(&best, true), (&vague[..5].to_vec(), true)]), [0, 1], "too few rounds");
        assert_eq!(open(&[]), [0; 0]);
    }

    #[test]
    fn what_has_no_time_neither_leads_nor_is_beaten() {
        let race = Race::new(&[rounds(&[&[0.0]]), rounds(&[]), rounds(&[&[f64::NAN]]), rounds(&[&[5.0]])]);
        assert_eq!(race.leader(0..4), Some(3));
        assert_eq!(race.leader(0..3), None);
        assert!((0..4).all(|case| !race.is_beaten(case, 3)));
    }
}
