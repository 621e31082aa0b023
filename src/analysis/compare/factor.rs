//! A factor that most cases of a class share: clocks, or one change of the whole system.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::Effect;
use crate::model::Repeatability;
use crate::stats;

/// Fewest cases, and experiments, that make a factor a common one.
const FEWEST_CASES: usize = 8;
const FEWEST_EXPERIMENTS: usize = 3;

/// The share of cases that have to be nearer to the factor than half of it.
const MOST: f64 = 0.6;

/// A factor below this share of the margin is nobody's concern.
const OF_MARGIN: f64 = 0.5;

/// How near the clock's change has to come to the factor, as a share of it.
const AGREEMENT: f64 = 0.25;

/// A factor that most cases of several experiments share.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    pub class: Repeatability,
    /// The logarithm of how many times as fast they are.
    pub log: f64,
    /// How many cases share it, of how many.
    pub sharing: usize,
    pub cases: usize,
    pub experiments: usize,
    /// The clock's change, as a logarithm, where it agrees: then the factor is the clock's.
    pub clock: Option<f64>,
}

/// A case as far as common factors are concerned: its experiment and its effect.
pub type Share<'s> = (&'s str, &'s Effect);

pub fn factors(cases: &[Share], margin: f64) -> Vec<Factor> {
    let mut by_class: BTreeMap<Repeatability, Vec<&Share>> = BTreeMap::new();
    // Where buffers lie isn't common to anything.
    for case in cases.iter().filter(|(_, effect)| effect.class != Repeatability::Placement) {
        by_class.entry(case.1.class).or_default().push(case);
    }
    by_class.into_iter().filter_map(|(class, cases)| factor(class, &cases, margin)).collect()
}

fn factor(class: Repeatability, cases: &[&Share], margin: f64) -> Option<Factor> {
    let logs: Vec<f64> = cases.iter().map(|(_, effect)| effect.change.log).collect();
    let log = stats::median(&logs);
    let is_shared = |(_, effect): &Share| (effect.change.log - log).abs() <= log.abs() / 2.0;
    let mut of_experiments: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for case in cases {
        let (sharing, all) = of_experiments.entry(case.0).or_default();
        *sharing += usize::from(is_shared(case));
        *all += 1;
    }
    let experiments: BTreeSet<&str> =
        of_experiments.iter().filter(|(_, (sharing, all))| 2 * sharing > *all).map(|(name, _)| *name).collect();
    let sharing = cases.iter().filter(|case| is_shared(case)).count();
    let is_common =
        cases.len() >= FEWEST_CASES && experiments.len() >= FEWEST_EXPERIMENTS && at_least(sharing, cases.len(), MOST);
    let agrees = |clock: &f64| (clock - log).abs() <= AGREEMENT * log.abs();
    let clocks: [fn(&Effect) -> Option<f64>; 2] = [|effect| effect.clock, |effect| effect.core_clock];
    let clock = clocks.iter().find_map(|of| {
        let changes: Vec<f64> = cases.iter().filter_map(|(_, effect)| of(effect)).collect();
        Some(stats::median(&changes)).filter(agrees)
    });
    (is_common && log.abs() >= OF_MARGIN * (1.0 + margin).ln()).then_some(Factor {
        class,
        log,
        sharing,
        cases: cases.len(),
        experiments: experiments.len(),
        clock,
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 cases")]
fn at_least(part: usize, all: usize, share: f64) -> bool {
    part as f64 >= share * all as f64
}

#[cfg(test)]
mod tests {
    use super::super::spread::Spread;
    use super::super::verdict::Change;
    use super::*;

    fn effects(class: Repeatability, changes: &[f64], clock: Option<f64>) -> Vec<Effect> {
        let spread = Spread { variance: 1e-6, degrees: 10.0 };
        let effect = |percent: &f64| Effect {
            change: Change { log: percent / 100.0, spread, moved: 0.0 },
            class,
            clock: clock.map(|percent| percent / 100.0),
            core_clock: None,
            undecided: None,
        };
        changes.iter().map(effect).collect()
    }

    /// As of so many experiments in turn.
    fn found(effects: &[Effect], experiments: usize) -> Vec<Factor> {
        let names = ["a/a", "b/b", "c/c", "d/d"];
        let shares: Vec<Share> = effects.iter().enumerate().map(|(i, effect)| (names[i % experiments], effect)).collect();
        factors(&shares, 0.01)
    }

    #[test]
    fn what_most_cases_of_several_experiments_share_is_common() {
        let slower = [-2.0, -2.1, -1.9, -2.0, -2.0, -1.8, -2.2, 0.0, 0.1, -2.0];
        let found_in = |changes: &[f64], experiments| found(&effects(Repeatability::Core, changes, None), experiments);
        let factor = &found_in(&slower, 3)[0];
        assert_eq!((factor.log, factor.sharing, factor.cases, factor.experiments, factor.clock), (-0.02, 8, 10, 3, None));
        assert_eq!(found_in(&slower, 2), [], "two experiments");
        assert_eq!(found_in(&slower[..7], 3), [], "few cases");
        assert_eq!(found_in(&[-2.0, -2.0, -2.0, -2.0, -2.0, -2.0, 0.1, 0.0, 0.0, 0.2, 0.1], 3), [], "half of them");
        assert_eq!(found_in(&[-0.3; 10], 3), [], "within half the margin");
        assert_eq!(found_in(&[-9.0, 5.0, -2.0, 7.0, -4.0, 1.0, -6.0, -1.0, -2.5, 3.0], 3), [], "noise");
    }

    #[test]
    fn a_factor_is_the_clocks_where_the_clock_agrees() {
        let of = |clock: f64| found(&effects(Repeatability::Core, &[-2.0; 9], Some(clock)), 3)[0].clock;
        assert_eq!((of(-1.9), of(0.0), of(2.0)), (Some(-0.019), None, None));
    }

    #[test]
    fn classes_are_told_apart() {
        let mut both = effects(Repeatability::Core, &[-2.0; 9], None);
        both.extend(effects(Repeatability::Memory, &[30.0; 9], None));
        both.extend(effects(Repeatability::Placement, &[30.0; 9], None));
        assert_eq!(
            found(&both, 3).iter().map(|factor| factor.class).collect::<Vec<_>>(),
            [Repeatability::Core, Repeatability::Memory]
        );
    }
}
