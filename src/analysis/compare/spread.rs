//! How far the figure of one run may be off, by what the run itself shows.

use std::collections::BTreeMap;

use crate::record::round_medians;
use crate::stats;

/// Fewest processes whose medians tell how much processes differ.
const FEWEST_PROCESSES: usize = 3;

/// Fewest rounds that tell anything.
const FEWEST_ROUNDS: usize = 3;

/// The standard error of a row's figure over that of the mean of its processes' medians, as simulated, stopping included: of three or
/// four processes, and of more. Rounds end when they look precise, so that those which look so by chance end more often.
const OF_FEW_PROCESSES: f64 = 1.35;
const OF_PROCESSES: f64 = 1.25;
const MANY_PROCESSES: usize = 5;

/// The same of the rounds of one process, with the degrees of freedom of Student's t that fit the quotient best; by the number of rounds.
/// Of six rounds that are bound to be six they would be 1.10 and 5.5. `benches/compare.rs` shows what follows.
const OF_ROUNDS: [(usize, f64, f64); 4] = [(6, 1.2, 4.5), (9, 1.4, 7.0), (13, 1.4, 11.0), (19, 1.4, 16.0)];

/// Of rows before schema 2.0: processes, rounds, half the interval's width over the standard error, and degrees of freedom.
const OF_INTERVALS: [(u64, u64, f64, f64); 6] =
    [(1, 6, 2.5, 4.5), (1, 9, 2.1, 5.0), (1, 13, 2.25, 6.4), (1, 19, 2.25, 7.6), (3, 6, 3.4, 2.6), (6, 6, 2.55, 4.5)];

/// The variance of a figure's logarithm, and how well it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub variance: f64,
    /// Its degrees of freedom; infinite where it is known.
    pub degrees: f64,
}

impl Spread {
    /// By the medians of a row's rounds: `PROCESS:NS;...`. Nothing where they are too few, or none.
    pub fn of_rounds(medians: &str) -> Option<Self> {
        Self::of_logs(round_medians(medians)?.into_iter().map(|(process, time)| (process, time.ln())))
    }

    /// By the logarithms of the medians of rounds, each with its process.
    pub fn of_logs(rounds: impl Iterator<Item = (u32, f64)>) -> Option<Self> {
        let mut by_process: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        rounds.for_each(|(process, log)| by_process.entry(process).or_default().push(log));
        let medians: Vec<f64> = by_process.values().map(|rounds| stats::median(rounds)).collect();
        if medians.len() >= FEWEST_PROCESSES {
            let factor = if medians.len() < MANY_PROCESSES { OF_FEW_PROCESSES } else { OF_PROCESSES };
            return Some(Self::of_means(&medians, factor, degrees(medians.len())));
        }
        let rounds: Vec<f64> = by_process.into_values().flatten().collect();
        if rounds.len() < FEWEST_ROUNDS {
            return None;
        }
        let known = OF_ROUNDS.iter().rev().find(|(count, ..)| *count <= rounds.len());
        let (factor, degrees) =
            known.map_or((OF_ROUNDS[0].1, degrees(rounds.len())), |(_, factor, degrees)| (*factor, *degrees));
        let own = Self::of_means(&rounds, factor, degrees);
        Some(match medians[..] {
            // Two processes hardly tell how much they differ, but where they do that much is sure.
            [one, other] => Self { variance: own.variance.max(((one - other) / 2.0).powi(2)), degrees: degrees.min(2.0) },
            _ => own,
        })
    }

    fn of_means(values: &[f64], factor: f64, degrees: f64) -> Self {
        let mean = stats::mean(values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let count = degrees_plus_one(values.len());
        Self { variance: factor.powi(2) * squares / (count - 1.0) / count, degrees }
    }

    /// By an interval alone, which so many processes and rounds made.
    pub fn of_interval((low, high): (f64, f64), processes: Option<u64>, rounds: Option<u64>) -> Option<Self> {
        let half = (low > 0.0 && high >= low).then(|| (high / low).ln() / 2.0)?;
        let (processes, rounds) = (processes.unwrap_or(1), rounds.unwrap_or(6));
        let fits = |entry: &&(u64, u64, f64, f64)| entry.0 <= processes && entry.1 <= rounds;
        let (_, _, widths, degrees) = OF_INTERVALS.iter().rev().find(fits).unwrap_or(&OF_INTERVALS[0]);
        Some(Self { variance: (half / widths).powi(2), degrees: *degrees })
    }

    /// Of a figure that follows from others, by its 95 % interval.
    pub fn of_derived((low, high): (f64, f64)) -> Option<Self> {
        let half = (low > 0.0 && high >= low && high.is_finite()).then(|| (high / low).ln() / 2.0)?;
        Some(Self { variance: (half / 1.96).powi(2), degrees: 5.0 })
    }
}

fn degrees(count: usize) -> f64 {
    degrees_plus_one(count) - 1.0
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 rounds")]
fn degrees_plus_one(count: usize) -> f64 {
    count as f64
}

/// Several spreads that add up, and how well their sum is known: Satterthwaite, An Approximate Distribution of Estimates of Variance
/// Components, Biometrics Bulletin 2 (1946).
pub fn sum(spreads: impl IntoIterator<Item = Spread>) -> Spread {
    let (mut variance, mut squares) = (0.0, 0.0);
    for spread in spreads {
        variance += spread.variance;
        squares += spread.variance.powi(2) / spread.degrees;
    }
    Spread { variance, degrees: if squares > 0.0 { variance.powi(2) / squares } else { f64::INFINITY } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-3
    }

    #[test]
    fn one_process_is_judged_by_its_rounds() {
        let six = Spread::of_rounds("1:100;1:101;1:99;1:100;1:101;1:99").unwrap();
        // The standard deviation of 1 % over six rounds.
        assert!(close(six.variance.sqrt(), 1.2 * 0.008_944 / 6_f64.sqrt()) && six.degrees == 4.5, "{six:?}");
        assert_eq!(Spread::of_rounds("1:5;1:5;1:5").unwrap(), Spread { variance: 0.0, degrees: 2.0 });
        assert_eq!(Spread::of_rounds("1:5;1:5"), None);
    }

    #[test]
    fn processes_are_judged_by_their_medians() {
        let alike = Spread::of_rounds("1:100;2:101;3:99;1:100;2:101;3:99").unwrap();
        assert!(close(alike.variance.sqrt(), 1.35 * 0.01 / 3_f64.sqrt()) && alike.degrees == 2.0, "{alike:?}");
        let apart = Spread::of_rounds("1:100;1:100;1:100;2:104;2:104;2:104").unwrap();
        assert!(close(apart.variance.sqrt(), 0.0196) && apart.degrees == 2.0, "two that differ: {apart:?}");
    }

    #[test]
    fn what_is_no_list_of_rounds_tells_nothing() {
        for wrong in ["", "1", "1:x;1:2;1:3", "x:1;x:2;x:3", "1:0;1:0;1:0", "1:-5;1:5;1:5"] {
            assert_eq!(Spread::of_rounds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_interval_alone_tells_by_what_made_it() {
        let of = |processes, rounds| Spread::of_interval((99.0, 101.0), Some(processes), Some(rounds)).unwrap();
        assert!(close(of(1, 6).variance.sqrt(), 0.01 / 2.5) && of(1, 6).degrees == 4.5);
        assert_eq!(
            (of(1, 12).degrees, of(3, 6).degrees, of(3, 9).degrees, of(6, 6).degrees, of(12, 19).degrees),
            (5.0, 2.6, 2.6, 4.5, 4.5)
        );
        assert_eq!(Spread::of_interval((0.0, 101.0), None, None), None);
    }

    #[test]
    fn degrees_add_up_as_far_as_their_parts_matter() {
        let [large, small] = [Spread { variance: 4.0, degrees: 5.0 }, Spread { variance: 0.04, degrees: 5.0 }];
        assert!(sum([large, small]).degrees < 5.2 && close(sum([large, large]).degrees, 10.0));
        assert_eq!(sum([large, Spread { variance: 0.0, degrees: 0.0 }]).variance, 4.0);
        assert_eq!(sum([]).degrees, f64::INFINITY);
        assert_eq!(sum([Spread { variance: 1.0, degrees: f64::INFINITY }]).degrees, f64::INFINITY);
    }
}
