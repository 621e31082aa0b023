//! What is borrowed for how far figures move from run to run, where the runs at hand move by more.

use super::effect::{Effect, OF_BORROWED};
use super::spread::{Spread, sum};
use super::verdict::Change;
use crate::model::Repeatability;
use crate::stats::{self, two_sided_p};

/// Fewest cases that tell.
const FEWEST: usize = 12;

/// By how much the median of so many p-values may be off by luck: three times half, over the root of their number.
const LUCK: f64 = 1.5;

/// The factor that is tried at most, and how often the range is halved.
const MOST: f64 = 1e4;
const TRIES: usize = 60;

/// By what factor cases move more from run to run than what is borrowed for them; 1 where they don't, `None` where too few tell.
///
/// Each case's change, less the median of its class, is to be within what is expected of it in half of all cases. A change of a few
/// cases doesn't show in that; one of all cases by unlike amounts does, and can't be told from runs that move more.
pub fn factor<'e>(effects: impl Iterator<Item = &'e Effect>) -> Option<f64> {
    let borrowing: Vec<&Effect> = effects.filter(|effect| is_told(effect)).collect();
    if borrowing.len() < FEWEST {
        return None;
    }
    let median = |class: Repeatability| {
        let logs: Vec<f64> = borrowing.iter().filter(|effect| effect.class == class).map(|effect| effect.change.log).collect();
        stats::median(&logs)
    };
    let rests: Vec<(f64, &Change)> =
        borrowing.iter().map(|effect| ((effect.change.log - median(effect.class)).abs(), &effect.change)).collect();
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
        return Some(1.0);
    }
    let halved = |(low, high): (f64, f64), _| {
        let middle = (low * high).sqrt();
        if median_p(middle) >= 0.5 { (low, middle) } else { (middle, high) }
    };
    let (_, factor) = (0..TRIES).fold((1.0, MOST), halved);
    // So well it is known.
    Some(factor * (1.0 + 2.0 / root))
}

/// Whether the device times it, and what it moves by from run to run is borrowed.
pub fn is_told(effect: &Effect) -> bool {
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
        assert_eq!(factor(spread_by(1e-4, 60).iter()), Some(1.0));
        let more = factor(spread_by(1e-3, 60).iter()).unwrap();
        assert!((15.0..30.0).contains(&more), "{more}");
        assert_eq!(factor(spread_by(1e-3, 11).iter()), None);
        // All of a class alike is no scatter.
        let shifted: Vec<Effect> = spread_by(1e-4, 60).iter().map(|one| effect(one.change.log - 0.05)).collect();
        assert_eq!(factor(shifted.iter()), Some(1.0));
    }

    #[test]
    fn a_few_changes_do_not_show() {
        let mut all = spread_by(1e-4, 60);
        all.iter_mut().take(6).for_each(|one| one.change.log -= 0.02);
        assert_eq!(factor(all.iter()), Some(1.0));
    }

    #[test]
    fn what_is_softened_is_wider_by_what_is_borrowed() {
        let soft = softened(effect(0.0).change, 3.0);
        assert!((soft.spread.variance - 1e-7).abs() < 1e-12 && (soft.moved - 9e-8).abs() < 1e-12, "{soft:?}");
        assert!(soft.spread.degrees < 6.5);
    }
}
