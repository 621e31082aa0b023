//! The rule that decides of each case whether it changed. Pure, so that simulated truth can test it.

use std::fmt;

use rayon::prelude::*;

use super::spread::Spread;
use crate::stats::{Ratio, largest_discovery, quantile_of_t, two_sided_p, upper_p};

/// How sure `same` is: the chance that a case is called the same though its change is as large as the margin.
const EQUIVALENCE: f64 = 0.05;

/// The share of `faster` and `slower` that may be false on average.
pub const FALSE_DISCOVERIES: f64 = 0.01;

/// Cases of one class don't all move alike from run to run: such a share of them is taken to move by so many times the class's variance.
/// Student's t of one spread alone would be too sure where such a case's own rounds are precise: `benches/compare.rs` then counts a false
/// verdict in up to 17 % of comparisons of cases that move unevenly.
const OF_MOVERS: (f64, f64) = (0.1, 3.0);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It had a figure, and now it fails.
    Broken,
    /// It fails on both sides.
    Failing,
    /// It had a figure, and now it has none, though nothing failed.
    Missing,
    /// It has a figure on the base side, and the new side's device can't do it.
    Skipped,
    Slower,
    Faster,
    /// It failed, and now it has a figure.
    Fixed,
    /// It had no figure before.
    New,
    /// The bases of the figures differ: another shader, another amount of work.
    Changed,
    /// Neither a change nor the lack of one is shown.
    Unclear,
    /// Any change is within the margin for sure.
    Same,
}

/// What each is called, in their order.
const WORDS: [&str; 11] =
    ["broken", "failing", "missing", "skipped", "slower", "faster", "fixed", "new", "changed", "unclear", "same"];

impl Verdict {
    /// Every verdict, in the order in which people want to know them.
    pub const ALL: [Self; 11] = {
        use Verdict::*;
        [Broken, Failing, Missing, Skipped, Slower, Faster, Fixed, New, Changed, Unclear, Same]
    };

    pub fn as_str(self) -> &'static str {
        WORDS[self as usize]
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The change of a case, as the logarithm of how many times as fast it is, and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The logarithm; above zero is faster.
    pub log: f64,
    pub spread: Spread,
    /// The part of the spread's variance by which runs differ: some cases have far more of it than most of their class.
    pub moved: f64,
}

impl Change {
    /// The same, if no more degrees of freedom tell its spread than these.
    pub fn at_most(self, degrees: f64) -> Self {
        Self { spread: Spread { degrees: self.spread.degrees.min(degrees), ..self.spread }, ..self }
    }

    /// How sure it is that there is a change at all: the probability to see as much by chance.
    pub fn p_value(&self) -> f64 {
        if self.log == 0.0 {
            return 1.0;
        }
        let p = |variance: f64| two_sided_p(self.log / variance.sqrt(), self.spread.degrees);
        let (share, times) = OF_MOVERS;
        (1.0 - share) * p(self.spread.variance) + share * p(self.spread.variance + (times - 1.0) * self.moved)
    }

    /// Whether it is within the margin for sure: two one-sided tests, Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15
    /// (1987).
    pub fn is_same(&self, margin: f64) -> bool {
        let room = (1.0 + margin).ln() - self.log.abs();
        room > 0.0 && upper_p(room / self.spread.variance.sqrt(), self.spread.degrees) < EQUIVALENCE
    }

    pub fn interval(&self) -> (f64, f64) {
        // None of an exact figure, whatever is known of its degrees.
        let half = if self.spread.variance > 0.0 {
            quantile_of_t(0.975, self.spread.degrees) * self.spread.variance.sqrt()
        } else {
            0.0
        };
        (self.log - half, self.log + half)
    }

    /// How many times as fast it is, with its 95 % interval.
    pub fn ratio(&self) -> Ratio {
        let (low, high) = self.interval();
        Ratio { value: self.log.exp(), low: low.exp(), high: high.exp() }
    }
}

/// The verdicts on changes that can be judged: the same by equivalence with this margin; faster and slower by a step-up rule over the
/// p-values of those that aren't the same, as discoveries among all. Plain Benjamini-Hochberg over all, beside a test of equivalence,
/// would call small but sure changes both.
pub fn decide(changes: &[Change], margin: f64) -> Vec<Verdict> {
    // Nothing for those that are the same.
    let p_value = |change: &Change| (!change.is_same(margin)).then(|| change.p_value());
    let p_values: Vec<Option<f64>> = changes.par_iter().map(p_value).collect();
    let open: Vec<f64> = p_values.iter().flatten().copied().collect();
    let largest = largest_discovery(&open, changes.len(), FALSE_DISCOVERIES);
    let is_sure = |p_value: f64| largest.is_some_and(|largest| p_value <= largest);
    let verdict = |(change, p_value): (&Change, Option<f64>)| match p_value {
        None => Verdict::Same,
        Some(p_value) if !is_sure(p_value) => Verdict::Unclear,
        _ if change.log > 0.0 => Verdict::Faster,
        _ => Verdict::Slower,
    };
    changes.iter().zip(p_values).map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(percent: f64, error: f64) -> Change {
        Change { log: percent / 100.0, spread: Spread { variance: (error / 100.0).powi(2), degrees: 10.0 }, moved: 0.0 }
    }

    #[test]
    fn sure_changes_and_sure_equality_are_told_apart() {
        let changes =
            [change(-3.0, 0.2), change(2.5, 0.2), change(0.1, 0.2), change(1.0, 0.4), change(0.4, 0.05), change(-9.0, 8.0)];
        let verdicts = decide(&changes, 0.01);
        let expected = [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::Unclear, Verdict::Same, Verdict::Unclear];
        assert_eq!(verdicts, expected, "0.4 % ± 0.1 % is a change, but within the margin");
        assert_eq!(decide(&changes, 0.003)[4], Verdict::Faster);
        assert_eq!(decide(&changes, 0.003)[2], Verdict::Unclear);
    }

    #[test]
    fn what_moves_from_run_to_run_has_to_change_by_more() {
        let steady = change(1.5, 0.3);
        let moving = Change { moved: steady.spread.variance, ..steady };
        assert!(
            moving.p_value() > 3.0 * steady.p_value() && moving.p_value() < 0.05,
            "{}",
            moving.p_value() / steady.p_value()
        );
        assert_eq!(moving.interval(), steady.interval());
    }

    #[test]
    fn one_of_many_has_to_be_surer_than_one_alone() {
        let one = change(1.5, 0.4);
        assert_eq!(decide(&[one], 0.01), [Verdict::Faster]);
        let mut many = vec![change(0.0, 0.1); 300];
        many.push(one);
        assert_eq!(decide(&many, 0.01)[300], Verdict::Unclear);
    }

    #[test]
    fn an_interval_holds_what_equality_is_tested_by() {
        let (low, high) = change(1.0, 0.5).interval();
        assert!((low - (0.01 - 2.228 * 0.005)).abs() < 1e-5 && (high - (0.01 + 2.228 * 0.005)).abs() < 1e-5);
        let exact = Change { log: 0.0, spread: Spread { variance: 0.0, degrees: f64::INFINITY }, moved: 0.0 };
        assert!(exact.is_same(0.01) && exact.interval() == (0.0, 0.0) && exact.p_value() == 1.0);
    }

    #[test]
    fn verdicts_come_in_their_order() {
        assert!(Verdict::ALL.is_sorted());
        for verdict in Verdict::ALL {
            assert_eq!(format!("{verdict:?}").to_lowercase(), verdict.as_str());
        }
    }
}
