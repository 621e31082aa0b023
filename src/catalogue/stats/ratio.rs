//! How many times as long one thing takes as another, by the rounds in which both were timed: what disturbs a round disturbs both.

use serde::Serialize;

use super::{clustered_interval, mean, median, quantile_of_t};

/// A round in which something was timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// Its number: rounds with the same number are one round.
    pub round: u32,
    pub process: u32,
    pub time: f64,
}

/// How sure it is that nothing is called slower that isn't: in all comparisons with the fastest together, at all looks.
const JOINT: f64 = 0.05;

/// So many looks are taken: after 6, 9, 13, 19, 27 and 39 rounds.
const LOOKS: f64 = 6.0;

/// What takes at most so many times as long is as good.
const ALIKE: f64 = 1.03;

/// A figure over another one of its kind, with the ends of an interval that it lies within, as sure as whoever made it says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub value: f64,
    pub low: f64,
    /// Infinite, which JSON has no number for, where nothing bounds it.
    pub high: f64,
}

impl Ratio {
    /// A figure over itself.
    pub const ONE: Self = Self { value: 1.0, low: 1.0, high: 1.0 };

    /// One time over another, base's: the median of the rounds that both took part in, six at least. It isn't below its lower end at the
    /// level of as many comparisons with the same base together; its upper end is that of its own 95 % interval.
    ///
    /// The lower end is the better one of two bounds, each at half the level: Student's t of the logarithms, which tells most after
    /// few rounds, and the order statistic (the sign test's), which one disturbed round doesn't move. The level is divided among
    /// comparisons and looks (Bonferroni): little stricter than Dunnett's at levels so low.
    pub fn of(own: &[Timed], base: &[Timed], comparisons: usize) -> Option<Self> {
        let common = common(own, base);
        let ratios: Vec<f64> = common.iter().map(|(ratio, _)| *ratio).collect();
        let processes: Vec<u32> = common.iter().map(|(_, process)| *process).collect();
        let interval = clustered_interval(&ratios, &processes)?;
        let is_known = ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0);
        let (value, level) = (median(&ratios), level(comparisons) / 2.0);
        let bound = by_t(&ratios, level).max(by_order(&ratios, level)).min(value);
        // Where processes differ, that bounds it as well.
        let is_clustered = processes.iter().any(|process| *process != processes[0]);
        let low = if is_clustered { bound.min(interval.low) } else { bound };
        is_known.then_some(Self { value, low, high: interval.high.max(value) })
    }

    pub fn is_slower(&self) -> bool {
        self.low > 1.0
    }

    /// Whether it is as good as its base.
    pub fn is_alike(&self) -> bool {
        self.high <= ALIKE
    }

    /// Whether nothing follows from it yet.
    pub fn is_open(&self) -> bool {
        !self.is_slower() && !self.is_alike()
    }
}

/// The quotients of the rounds that both took part in, with their processes.
pub fn common(own: &[Timed], base: &[Timed]) -> Vec<(f64, u32)> {
    let beside = |timed: &Timed| base.iter().find(|base| base.round == timed.round).map(|base| timed.time / base.time);
    own.iter().filter_map(|timed| Some((beside(timed)?, timed.process))).collect()
}

/// The level of one of so many comparisons, at one look.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 comparisons")]
fn level(comparisons: usize) -> f64 {
    JOINT / LOOKS / comparisons.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "rounds are few")]
fn by_t(ratios: &[f64], level: f64) -> f64 {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let degrees = ratios.len() as f64 - 1.0;
    (mean(&logarithms) - quantile_of_t(1.0 - level, degrees) * deviation(&logarithms) / (degrees + 1.0).sqrt()).exp()
}

/// The largest order statistic that the median is below with this probability at most; zero where even the least isn't.
#[expect(clippy::cast_precision_loss, reason = "rounds are few")]
fn by_order(ratios: &[f64], level: f64) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut term, mut below, mut bound) = (0.5_f64.powf(ratios.len() as f64), 0.0, 0.0);
    for (k, ratio) in sorted.iter().enumerate() {
        below += term;
        if below > level {
            break;
        }
        bound = *ratio;
        term *= (ratios.len() - k) as f64 / (k + 1) as f64;
    }
    bound
}

/// The standard deviation; not finite for fewer than two values.
#[expect(clippy::cast_precision_loss, reason = "rounds are few")]
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// How much a search's few rounds spread, and who may be the fastest by them.
pub mod reach {
    use super::{ALIKE, Timed, common, deviation, level, mean, median};
    use crate::stats::normal_bound;

    /// Rounds of few are taken to differ by this at least.
    const LEAST: f64 = 0.01;

    /// The median of the standard deviation of three normal values is so much of the true one.
    const OF_THREE: f64 = 0.833;

    /// Of each of these, its time over that of `base` in the rounds that both took part in, and whether it may be as good: it lies
    /// within Dunnett's critical distance of that, or few rounds would have to tell what counts as alike from what is slower. None
    /// counts as less noisy than the median one.
    #[expect(clippy::cast_precision_loss, reason = "rounds are few")]
    pub fn within(all: &[Vec<Timed>], base: usize) -> Vec<(f64, bool)> {
        let logarithms = |own: &Vec<Timed>| -> Vec<f64> {
            let together: Vec<f64> = common(own, &all[base]).iter().map(|(ratio, _)| ratio.ln()).collect();
            let middle = |timed: &[Timed]| median(&timed.iter().map(|timed| timed.time).collect::<Vec<_>>());
            // What was never timed together compares by its times.
            if together.is_empty() { vec![(middle(own) / middle(&all[base])).ln()] } else { together }
        };
        let all_logarithms: Vec<Vec<f64>> = all.iter().map(logarithms).collect();
        let others = all_logarithms.iter().enumerate().filter(|(i, own)| *i != base && own.len() > 1);
        let spreads: Vec<f64> = others.map(|(_, own)| deviation(own)).collect();
        let usual = if spreads.is_empty() { 0.0 } else { median(&spreads) / OF_THREE }.max(LEAST);
        let bound = normal_bound(level(all.len().saturating_sub(1)));
        let place = |own: &Vec<f64>| {
            let spread = Some(deviation(own)).filter(|own| own.is_finite()).unwrap_or(0.0).max(usual);
            let over = mean(own);
            (over.exp(), over.exp() <= ALIKE || over <= bound * spread / (own.len() as f64).sqrt())
        };
        all_logarithms.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(times: &[f64]) -> Vec<Timed> {
        (1..).zip(times).map(|(round, time)| Timed { round, process: 1, time: *time }).collect()
    }

    #[test]
    fn only_common_rounds_count() {
        let base = timed(&[100.0, 200.0, 100.0, 200.0, 100.0, 200.0, 100.0]);
        let slower: Vec<f64> =
            base.iter().enumerate().map(|(i, base)| base.time * (1.1 + 0.001 * f64::from(i % 2 == 0))).collect();
        let quotient = Ratio::of(&timed(&slower), &base, 1).unwrap();
        assert!(
            quotient.is_slower() && (quotient.value - 1.101).abs() < 1e-9,
            "{quotient:?}: all rounds differ by twice as much"
        );
        let elsewhere: Vec<Timed> = timed(&slower).into_iter().map(|timed| Timed { round: timed.round + 2, ..timed }).collect();
        assert_eq!(Ratio::of(&elsewhere, &base, 1), None, "five are too few");
        assert_eq!(common(&elsewhere, &base).len(), 5);
    }

    #[test]
    fn the_more_comparisons_the_more_it_takes() {
        let base = timed(&[100.0; 9]);
        let own = timed(&[101.0, 102.0, 103.0, 101.0, 102.0, 103.0, 101.0, 102.0, 103.0]);
        let low = |comparisons| Ratio::of(&own, &base, comparisons).unwrap().low;
        assert!(low(1) > low(10) && low(10) > low(1000), "{} {} {}", low(1), low(10), low(1000));
        assert!(Ratio::of(&own, &base, 1).unwrap().is_alike(), "and slower at once");
    }

    #[test]
    fn one_disturbed_round_of_many_changes_little() {
        let base = timed(&[100.0; 19]);
        let mut own = timed(&[105.0; 19]);
        own[3].time = 900.0;
        own[4].time = 40.0;
        let quotient = Ratio::of(&own, &base, 14).unwrap();
        assert!(quotient.is_slower() && quotient.high < 1.06, "{quotient:?}");
    }

    #[test]
    fn the_bound_of_the_order_is_that_of_the_binomial_tables() {
        let values: Vec<f64> = (1..=19).map(f64::from).collect();
        // P(Bin(19, 1/2) <= 2) = 0.00036, and of 3 it is 0.0022.
        assert_eq!(by_order(&values, 0.000_9), 3.0);
        assert_eq!(by_order(&values[..6], 0.01), 0.0);
        assert_eq!(by_order(&values[..6], 0.02), 1.0);
    }

    #[test]
    fn who_is_within_reach_follows_from_the_noise() {
        let all = |by: f64| {
            vec![timed(&[100.0, 100.0 + by, 100.0]), timed(&[104.0, 104.0, 104.0 + by]), timed(&[130.0, 130.0, 130.0])]
        };
        let is_within = |by| reach::within(&all(by), 0).into_iter().map(|(_, is)| is).collect::<Vec<_>>();
        assert_eq!(is_within(0.0), [true, false, false]);
        assert_eq!(is_within(5.0), [true, true, false]);
        let alike = [timed(&[100.0; 3]), timed(&[102.5; 3]), timed(&[103.5; 3])];
        assert_eq!(
            reach::within(&alike, 0).into_iter().map(|(_, is)| is).collect::<Vec<_>>(),
            [true, true, false],
            "however little they vary"
        );
        let apart = [timed(&[100.0]), vec![Timed { round: 9, process: 1, time: 101.0 }]];
        assert_eq!(reach::within(&apart, 0)[1], (1.01, true), "never timed together");
    }
}
