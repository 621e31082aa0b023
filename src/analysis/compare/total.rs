//! Geometric means of many changes.

use std::collections::BTreeMap;

use super::effect::Effect;
use super::spread::Spread;
use super::verdict::Change;
use crate::stats::Ratio;

/// How many times as fast the cases of a family are, or all of them, as a geometric mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// The family; nothing for all.
    pub family: Option<String>,
    pub cases: usize,
    pub ratio: Ratio,
}

/// The mean of each family, then of all, from each case's family, its effect, and how far its class moves from run to run. Errors within
/// runs are independent; what a run moves as a whole may move all of a family's cases alike, and is taken to.
pub fn totals<'e>(cases: impl Iterator<Item = (&'e str, &'e Effect, f64)>) -> Vec<Total> {
    let mut by_family: BTreeMap<&str, Vec<(Change, f64)>> = BTreeMap::new();
    for (family, effect, between) in cases {
        by_family.entry(family).or_default().push((effect.change, between));
    }
    let all: Vec<(Change, f64)> = by_family.values().flatten().copied().collect();
    let mut totals: Vec<Total> = by_family.iter().map(|(family, changes)| total(Some((*family).to_owned()), changes)).collect();
    if !all.is_empty() {
        totals.push(total(None, &all));
    }
    totals
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 cases")]
fn total(family: Option<String>, changes: &[(Change, f64)]) -> Total {
    let count = changes.len() as f64;
    let mean = |of: &dyn Fn(&(Change, f64)) -> f64| changes.iter().map(of).sum::<f64>() / count;
    let within = mean(&|(change, _)| change.spread.variance) / count;
    let between = 2.0 * mean(&|(_, between)| *between).powi(2);
    let degrees = changes.iter().map(|(change, _)| change.spread.degrees).fold(f64::INFINITY, f64::min);
    let change =
        Change { log: mean(&|(change, _)| change.log), spread: Spread { variance: within + between, degrees }, moved: 0.0 };
    Total { family, cases: changes.len(), ratio: change.ratio() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Repeatability;

    fn effect(percent: f64) -> Effect {
        let change = Change { log: percent / 100.0, spread: Spread { variance: 4e-6, degrees: 10.0 }, moved: 0.0 };
        Effect { change, measured: change, class: Repeatability::Core, is_at_clock: false, is_borrowed: true, undecided: None }
    }

    #[test]
    fn means_are_of_families_and_of_all() {
        let effects = [effect(2.0), effect(4.0), effect(-6.0)];
        let cases = ["a", "a", "b"].into_iter().zip(&effects).map(|(family, effect)| (family, effect, 0.001));
        let totals = totals(cases);
        let told: Vec<(Option<&str>, usize, f64)> = totals
            .iter()
            .map(|total| (total.family.as_deref(), total.cases, (total.ratio.value.ln() * 100.0).round()))
            .collect();
        assert_eq!(told, [(Some("a"), 2, 3.0), (Some("b"), 1, -6.0), (None, 3, 0.0)]);
    }

    #[test]
    fn many_cases_of_one_run_are_no_surer_than_the_run() {
        let effects = vec![effect(1.0); 1000];
        let totals = totals(effects.iter().map(|effect| ("a", effect, 0.001)));
        let half = (totals[0].ratio.high / totals[0].ratio.low).ln() / 2.0;
        assert!(half > 2.2 * 0.001 * 2_f64.sqrt(), "{half}");
    }
}
