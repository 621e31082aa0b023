//! What became of all cases together, and of each family: geometric means, and verdicts on them.
//!
//! One run of each side is one draw of whatever moves all of its cases. That it was slower than runs are taken to move can be shown; that
//! a change made it so, only several runs of each side show.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::effect::{Effect, InRun, OF_BORROWED};
use super::spread::{Spread, sum};
use super::verdict::{Change, Verdict};
use crate::stats::{self, Ratio};

/// The chance of a false verdict of the whole; and that of any of the families.
const FALSE_VERDICTS: f64 = 0.01;

/// Cases from which on they show how far cases move apart.
const FEWEST_CASES: usize = 5;

/// Families from which on they show how far whole families move.
const FEWEST_FAMILIES: usize = 3;

/// Degrees of freedom from which on replicates show how far runs move as a whole.
const FEWEST_DEGREES: f64 = 2.0;

/// How many times as fast the cases of a family are, or all of them, as a geometric mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// The family; nothing for all.
    pub family: Option<String>,
    /// The cases in the mean: those whose figures can be judged.
    pub cases: usize,
    /// The cases that are on both sides, or were lost on the new one.
    pub of: usize,
    pub ratio: Ratio,
    /// Slower, faster, the same or unclear.
    pub verdict: Verdict,
    /// Whether how far a run moves as a whole is borrowed, and not shown by several runs of each side.
    pub is_borrowed: bool,
}

/// A case that can be judged, for the totals.
pub struct Part<'e> {
    pub family: &'e str,
    pub effect: &'e Effect,
    /// How far its class moves from run to run, as a standard deviation.
    pub between: f64,
    /// Its runs on each side.
    pub runs: [Vec<InRun>; 2],
}

/// The total of each family, then of all. `families`: those of all cases that are on both sides, or were lost.
pub fn totals<'e>(parts: &[Part<'e>], families: impl Iterator<Item = &'e str>, margin: f64) -> Vec<Total> {
    let mut by_family: BTreeMap<&str, (Vec<&Part>, usize)> = BTreeMap::new();
    families.for_each(|family| by_family.entry(family).or_default().1 += 1);
    parts.iter().for_each(|part| by_family.entry(part.family).or_default().0.push(part));
    let of: usize = by_family.values().map(|(_, of)| of).sum();
    let mut totals: Vec<(Mean, Option<&str>, usize)> =
        by_family.iter().filter_map(|(family, (parts, of))| Some((Mean::new(parts)?, Some(*family), *of))).collect();
    let in_families: Vec<f64> = totals.iter().map(|(mean, ..)| mean.change.p_value()).collect();
    let families_sure = stats::largest_sure(&in_families, FALSE_VERDICTS);
    if let Some(whole) = Mean::new(&parts.iter().collect::<Vec<_>>()) {
        totals.push((whole, None, of));
    }
    let is_sure = |change: &Change, is_family: bool| match is_family {
        true => families_sure.is_some_and(|largest| change.p_value() <= largest),
        false => change.p_value() <= FALSE_VERDICTS,
    };
    let total = |(mean, family, of): (Mean, Option<&str>, usize)| Total {
        family: family.map(str::to_owned),
        cases: mean.cases,
        of,
        ratio: mean.change.ratio(),
        verdict: match mean.change {
            change if change.is_same(margin) => Verdict::Same,
            change if !is_sure(&change, family.is_some()) => Verdict::Unclear,
            change if change.log > 0.0 => Verdict::Faster,
            _ => Verdict::Slower,
        },
        is_borrowed: mean.is_borrowed,
    };
    totals.into_iter().map(total).collect()
}

/// The mean of several cases.
struct Mean {
    cases: usize,
    change: Change,
    is_borrowed: bool,
}

impl Mean {
    fn new(parts: &[&Part]) -> Option<Self> {
        if parts.is_empty() {
            return None;
        }
        let log = mean(parts, |part| part.effect.change.log);
        let (common, is_borrowed) = common(parts);
        let spread = sum([apart(parts, log), common]);
        // Few runs that are alike by luck leave no more than they tell.
        let degrees = if is_borrowed { spread.degrees } else { spread.degrees.min(common.degrees) };
        let spread = Spread { degrees, ..spread };
        Some(Self { cases: parts.len(), change: Change { log, spread, moved: 0.0 }, is_borrowed })
    }
}

/// What the mean is off by because cases move apart: as each is expected to, as they do, or as whole families do; whatever is most.
fn apart(parts: &[&Part], log: f64) -> Spread {
    let cases = count(parts.len());
    let fewest = parts.iter().map(|part| part.effect.change.spread.degrees).fold(f64::INFINITY, f64::min);
    let expected = Spread { variance: mean(parts, |part| part.effect.change.spread.variance) / cases, degrees: fewest };
    let mut of_families: BTreeMap<&str, f64> = BTreeMap::new();
    let mut squares = 0.0;
    for part in parts {
        let rest = part.effect.change.log - log;
        squares += rest.powi(2);
        *of_families.entry(part.family).or_default() += rest;
    }
    let as_they_do =
        (parts.len() >= FEWEST_CASES).then(|| Spread { variance: squares / (cases - 1.0) / cases, degrees: cases - 1.0 });
    let families = count(of_families.len());
    let of_families: f64 = of_families.values().map(|sum| sum.powi(2)).sum();
    let as_families = (families >= count(FEWEST_FAMILIES))
        .then(|| Spread { variance: families / (families - 1.0) * of_families / cases.powi(2), degrees: families - 1.0 });
    let all = [expected].into_iter().chain(as_they_do).chain(as_families);
    all.max_by(|one, other| one.variance.total_cmp(&other.variance)).unwrap_or(expected)
}

/// What the mean is off by because a run moves as a whole, as several runs of the same cases show. Else as far as single cases move from
/// run to run, which is borrowed. Tells which.
fn common(parts: &[&Part]) -> (Spread, bool) {
    let (mut squares, mut degrees, mut of_runs) = (0.0, 0.0, 0.0);
    for side in [0, 1] {
        for moved in repeated(parts, side) {
            squares += moved.iter().map(|log| log.powi(2)).sum::<f64>();
            degrees += count(moved.len()) - 1.0;
        }
        of_runs += shares(parts, side).into_iter().map(|share| share.powi(2)).sum::<f64>();
    }
    if degrees < FEWEST_DEGREES {
        let between = mean(parts, |part| part.between);
        return (Spread { variance: 2.0 * between.powi(2), degrees: OF_BORROWED }, true);
    }
    (Spread { variance: squares / degrees * of_runs, degrees }, false)
}

/// By how much each run of a side is faster than the mean of those that took the same cases. A run that shares no case with another, such
/// as that of a shard, shows nothing; where some cases are missing from some runs, those tell that most runs have in common.
fn repeated(parts: &[&Part], side: usize) -> Vec<Vec<f64>> {
    let mut by_runs: BTreeMap<Vec<u64>, Vec<&[InRun]>> = BTreeMap::new();
    for part in parts {
        let runs: BTreeSet<u64> = part.runs[side].iter().map(|(run, _)| *run).collect();
        if runs.len() > 1 {
            by_runs.entry(runs.into_iter().collect()).or_default().push(&part.runs[side]);
        }
    }
    let mut groups: Vec<(Vec<u64>, Vec<&[InRun]>)> = by_runs.into_iter().collect();
    groups.sort_by_key(|(_, cases)| Reverse(cases.len()));
    let mut told: BTreeSet<u64> = BTreeSet::new();
    groups.retain(|(runs, _)| {
        let is_new = runs.iter().all(|run| !told.contains(run));
        told.extend(runs.iter().filter(|_| is_new));
        is_new
    });
    let logs = |case: &[InRun], of: Option<u64>| {
        let logs: Vec<f64> = case.iter().filter(|(run, _)| of.is_none_or(|of| of == *run)).map(|(_, log)| *log).collect();
        stats::mean(&logs)
    };
    let moved = |(runs, cases): (Vec<u64>, Vec<&[InRun]>)| {
        let of_run = |run: &u64| cases.iter().map(|case| logs(case, Some(*run)) - logs(case, None)).collect::<Vec<_>>();
        runs.iter().map(|run| stats::mean(&of_run(run))).collect()
    };
    groups.into_iter().map(moved).collect()
}

/// What share of the mean comes from each run of a side.
fn shares(parts: &[&Part], side: usize) -> Vec<f64> {
    let mut by_run: BTreeMap<u64, f64> = BTreeMap::new();
    for part in parts {
        let runs = &part.runs[side];
        let share = 1.0 / count(runs.len()) / count(parts.len());
        runs.iter().for_each(|(run, _)| *by_run.entry(*run).or_default() += share);
    }
    by_run.into_values().collect()
}

fn mean(parts: &[&Part], of: impl Fn(&Part) -> f64) -> f64 {
    stats::mean(&parts.iter().map(|part| of(part)).collect::<Vec<_>>())
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 cases")]
fn count(cases: usize) -> f64 {
    cases as f64
}

#[cfg(test)]
mod tests {
    use super::super::verdict::decide;
    use super::*;
    use crate::model::Repeatability;

    fn effect(percent: f64) -> Effect {
        let change = Change { log: percent / 100.0, spread: Spread { variance: 4e-6, degrees: 10.0 }, moved: 0.0 };
        Effect { change, measured: change, class: Repeatability::Core, is_at_clock: false, is_borrowed: true, undecided: None }
    }

    /// Of one run a side, with 0.1 % borrowed.
    fn of_one_run(effects: &[(&'static str, Effect)]) -> Vec<Total> {
        let runs = [vec![(1, 1.0)], vec![(2, 1.0)]];
        let part = |(family, effect): &'_ (&'static str, Effect)| (*family, effect.clone());
        let owned: Vec<(&str, Effect)> = effects.iter().map(part).collect();
        let parts: Vec<Part> =
            owned.iter().map(|(family, effect)| Part { family, effect, between: 0.001, runs: runs.clone() }).collect();
        totals(&parts, parts.iter().map(|part| part.family).chain(["a"]), 0.01)
    }

    fn whole(totals: &[Total]) -> &Total {
        totals.iter().find(|total| total.family.is_none()).unwrap()
    }

    #[test]
    fn means_are_of_families_and_of_all_and_say_what_is_in_them() {
        let totals = of_one_run(&[("a", effect(2.0)), ("a", effect(4.0)), ("b", effect(-6.0))]);
        let told: Vec<(Option<&str>, usize, usize, f64)> = totals
            .iter()
            .map(|total| (total.family.as_deref(), total.cases, total.of, (total.ratio.value.ln() * 100.0).round()))
            .collect();
        assert_eq!(told, [(Some("a"), 2, 3, 3.0), (Some("b"), 1, 1, -6.0), (None, 3, 4, 0.0)]);
    }

    #[test]
    fn many_cases_of_one_run_are_no_surer_than_the_run() {
        let totals = of_one_run(&vec![("a", effect(1.0)); 1000]);
        let half = (totals[0].ratio.high / totals[0].ratio.low).ln() / 2.0;
        assert!(half > 2.2 * 0.001 * 2_f64.sqrt(), "{half}");
    }

    #[test]
    fn a_whole_that_is_slower_has_a_verdict_though_no_case_is_sure() {
        let unsure = |percent| {
            let own = effect(percent);
            let change = Change { spread: Spread { variance: 0.15_f64.powi(2), degrees: 10.0 }, ..own.change };
            Effect { change, ..own }
        };
        let slower: Vec<_> = (0..50).map(|i| ("a", unsure(-24.0 + f64::from(i % 11 - 5)))).collect();
        assert_eq!(whole(&of_one_run(&slower)).verdict, Verdict::Slower);
        let alone = decide(&slower.iter().map(|(_, effect)| effect.change).collect::<Vec<_>>(), 0.01);
        assert!(alone.iter().all(|verdict| *verdict == Verdict::Unclear), "{alone:?}");
        let same: Vec<_> = (0..50).map(|i| ("a", effect(f64::from(i % 3) * 0.2 - 0.2))).collect();
        assert_eq!(whole(&of_one_run(&same)).verdict, Verdict::Same);
    }

    /// Eight families of which each moves as one: cases are no evidence of their own.
    #[test]
    fn families_that_move_as_one_count_as_one() {
        let moved = [1.5, -0.5, 2.0, 0.8, -0.2, 2.4, 0.4, 1.9];
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let cases = |of: &[&'static str; 8]| -> Vec<(&'static str, Effect)> {
            (0..8).flat_map(|i| vec![(of[i], effect(moved[i])); 20]).collect()
        };
        assert_eq!(whole(&of_one_run(&cases(&names))).verdict, Verdict::Unclear);
        assert_eq!(whole(&of_one_run(&cases(&["a"; 8]))).verdict, Verdict::Faster);
    }

    /// Three runs a side that move as a whole by 2 %: what they differ by is none of a change.
    #[test]
    fn runs_of_a_side_show_how_far_a_run_moves_as_a_whole() {
        let effects = vec![effect(2.0); 40];
        let of = |moved: f64| {
            let runs =
                [[0.0, moved, -moved], [0.02 - moved, 0.02, 0.02 + moved]].map(|logs| (0..).zip(logs).collect::<Vec<_>>());
            let part = |effect| Part { family: "a", effect, between: 0.001, runs: runs.clone() };
            let parts: Vec<Part> = effects.iter().map(part).collect();
            whole(&totals(&parts, std::iter::repeat_n("a", 40), 0.01)).clone()
        };
        assert_eq!((of(0.001).verdict, of(0.02).verdict), (Verdict::Faster, Verdict::Unclear));
        assert!(!of(0.001).is_borrowed && of_one_run(&[("a", effect(1.0))])[0].is_borrowed);
    }

    /// Of 60 cases that are all 0.8 % slower, each with the runs of the base side that this says; the other side has one.
    fn of_runs(runs: impl Fn(u64) -> Vec<u64>) -> Total {
        let effects = vec![effect(-0.8); 60];
        let logs = |case: u64| runs(case).into_iter().map(|run| (run, 0.0001 * (run % 3) as f64)).collect();
        let part = |(case, effect)| Part { family: "a", effect, between: 0.005, runs: [logs(case), vec![(9, 0.0)]] };
        let parts: Vec<Part> = (0..).zip(&effects).map(part).collect();
        whole(&totals(&parts, std::iter::repeat_n("a", 60), 0.01)).clone()
    }

    #[test]
    fn runs_that_share_no_case_are_no_replicates() {
        let one = of_runs(|_| vec![1]);
        assert!(one.is_borrowed && one.verdict == Verdict::Unclear);
        // Shards, and a few cases that were measured again.
        for other in [of_runs(|case| vec![case % 3]), of_runs(|case| if case < 5 { vec![1, 2] } else { vec![1] })] {
            assert!(other.is_borrowed && other.verdict == Verdict::Unclear && other.ratio == one.ratio, "{other:?}");
        }
        let three = of_runs(|_| vec![0, 1, 2]);
        assert!(!three.is_borrowed && three.verdict == Verdict::Same, "{three:?}");
        // Some cases are missing from one of the three.
        let most = of_runs(|case| if case < 10 { vec![0, 1] } else { vec![0, 1, 2] });
        let half = |total: &Total| (total.ratio.high / total.ratio.low).ln();
        assert!(!most.is_borrowed && (half(&most) / half(&three) - 1.0).abs() < 0.1, "{most:?}");
    }
}
