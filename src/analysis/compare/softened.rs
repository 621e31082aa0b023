//! What is borrowed for how far figures move from run to run, where the runs at hand move by more.

use std::collections::BTreeMap;

use super::effect::{Effect, OF_BORROWED};
use super::spread::{Spread, sum};
use super::verdict::Change;
use crate::model::Repeatability;
use crate::stats::{self, two_sided_p};

/// Fewest cases that tell.
const FEWEST: usize = 12;

/// By how much the median of so many p-values may be off by luck: three times half, over the root of their number.
const LUCK: f64 = 1.5;

/// The factor that is tried at most, and how often the range is halved: to a hundredth of it.
const MOST: f64 = 1e4;
const TRIES: usize = 10;

/// How many times as far cases move from run to run as is borrowed for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softening {
    /// As the cases show it; 1 where they don't.
    pub shown: f64,
    /// What is taken for it, as far as so few cases know.
    pub used: f64,
}

impl Softening {
    const NONE: Self = Self { shown: 1.0, used: 1.0 };
}

/// By what factor cases move more from run to run than what is borrowed for them. Nothing where too few show it.
///
/// Each case's change, less the median of its class, is to be within what is expected of it in half of all cases. A change of a few
/// cases doesn't show in that; one of all cases by unlike amounts does, and can't be told from runs that move more.
pub fn softening<'e>(effects: impl Iterator<Item = &'e Effect>) -> Option<Softening> {
    let borrowing: Vec<&Effect> = effects.filter(|effect| borrows(effect)).collect();
    if borrowing.len() < FEWEST {
        return None;
    }
    let mut logs: BTreeMap<Repeatability, Vec<f64>> = BTreeMap::new();
    borrowing.iter().for_each(|effect| logs.entry(effect.class).or_default().push(effect.change.log));
    let medians: BTreeMap<Repeatability, f64> = logs.iter().map(|(class, logs)| (*class, stats::median(logs))).collect();
    let rests: Vec<(f64, &Change)> =
        borrowing.iter().map(|effect| ((effect.change.log - medians[&effect.class]).abs(), &effect.change)).collect();
    // Half of all are as far off by chance as their own error bars allow; of few cases, a few more or less.
    let median_p = |factor: f64| {
        let p = |(rest, change): &(f64, &Change)| {
            let spread = softened(**change, factor).spread;
            two_sided_p(rest / spread.variance.sqrt(), spread.degrees)
        };
        stats::median(&rests.iter().map(p).collect::<Vec<_>>())
    };
    let root = count(borrowing.len()).sqrt();
    if median_p(1.0) > 0.5 - LUCK / root {
        return Some(Softening::NONE);
    }
    let halved = |(low, high): (f64, f64), _| {
        let middle = (low * high).sqrt();
        if median_p(middle) >= 0.5 { (low, middle) } else { (middle, high) }
    };
    let (_, shown) = (0..TRIES).fold((1.0, MOST), halved);
    Some(Softening { shown, used: shown * (1.0 + 2.0 / root) })
}

/// Whether the device times it, and what it moves by from run to run is borrowed.
pub fn borrows(effect: &Effect) -> bool {
    let is_devices = !matches!(effect.class, Repeatability::Host | Repeatability::Processor);
    is_devices && effect.undecided.is_none() && effect.change.moved > 0.0 && effect.is_borrowed
}

/// A change with so many times what is borrowed for it.
pub fn softened(change: Change, factor: f64) -> Change {
    let moved = change.moved * factor.powi(2);
    let own = Spread { variance: own(&change), degrees: change.spread.degrees };
    Change { spread: sum([own, Spread { variance: moved, degrees: OF_BORROWED }]), moved, ..change }
}

/// The variance that runs show themselves.
fn own(change: &Change) -> f64 {
    (change.spread.variance - change.moved).max(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 cases")]
fn count(cases: usize) -> f64 {
    cases as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(log: f64) -> Effect {
        let change = Change { log, spread: Spread { variance: 2e-8, degrees: 5.0 }, moved: 1e-8 };
        Effect { change, measured: change, class: Repeatability::Core, is_at_clock: false, is_borrowed: true, undecided: None }
    }

    /// As the quantiles of a normal distribution of this standard deviation.
    fn spread_by(deviation: f64, cases: i32) -> Vec<Effect> {
        let at = |i: i32| deviation * 2.0 * f64::from(2 * i - cases + 1) / f64::from(cases);
        (0..cases).map(|i| effect(at(i))).collect()
    }

    #[test]
    fn runs_that_move_by_more_than_is_borrowed_show() {
        assert_eq!(softening(spread_by(1e-4, 60).iter()), Some(Softening::NONE));
        let more = softening(spread_by(1e-3, 60).iter()).unwrap();
        assert!((12.0..20.0).contains(&more.shown) && more.used > 1.2 * more.shown, "{more:?}");
        assert_eq!(softening(spread_by(1e-3, 11).iter()), None);
        // All of a class alike is no scatter.
        let shifted: Vec<Effect> = spread_by(1e-4, 60).iter().map(|one| effect(one.change.log - 0.05)).collect();
        assert_eq!(softening(shifted.iter()), Some(Softening::NONE));
    }

    #[test]
    fn a_few_changes_do_not_show() {
        let mut all = spread_by(1e-4, 60);
        all.iter_mut().take(6).for_each(|one| one.change.log -= 0.02);
        assert_eq!(softening(all.iter()), Some(Softening::NONE));
    }

    #[test]
    fn what_is_softened_is_wider_by_what_is_borrowed() {
        let soft = softened(effect(0.0).change, 3.0);
        assert!((soft.spread.variance - 1e-7).abs() < 1e-12 && (soft.moved - 9e-8).abs() < 1e-12, "{soft:?}");
        assert!(soft.spread.degrees < 6.5);
    }
}
