//! What is left of a change where clocks explain a part of it.

use super::effect::Effect;
use super::factor::Factor;
use super::spread::{Spread, sum};
use super::verdict::Change;
use crate::model::Repeatability;

/// How unsure it is how far a case follows the clock beside it, as a share of the clock's change: alone, and where most of its class do.
const UNSURE_ALONE: f64 = 1.0 / 3.0;
const UNSURE_TOGETHER: f64 = 0.1;

/// The clock beside a case is its class's where it comes as near to the factor, as a share of that.
const AGREEMENT: f64 = 0.5;

/// What is said of a case that stayed while most of its class went with the clocks: the one can't be told from the other.
const DIDNT_FOLLOW: &str = "it didn't follow the clocks: something else bounds it, or it changed by as much the other way";

pub struct Remainder {
    pub change: Change,
    pub is_clocks: bool,
    pub words: Option<String>,
}

impl Remainder {
    /// Of a case. A clock explains no more than brings the change nearer to none: not every case follows it, though most of a class may.
    /// Where it explains nothing, it adds to what isn't known.
    pub fn of(effect: &Effect, factors: &[Factor], margin: f64) -> Self {
        let Change { log, spread, moved } = effect.change;
        let is_bound = effect.class == Repeatability::Core;
        // Caches and the ways to them go at the core's clock, memory doesn't.
        let own = effect.clock.filter(|_| is_bound || effect.class == Repeatability::Memory);
        let factor =
            factors.iter().find(|factor| factor.class == effect.class && factor.clock.is_some()).map(|factor| factor.log);
        let agrees = |own: &f64| factor.is_none_or(|factor| (own - factor).abs() <= AGREEMENT * factor.abs());
        let Some(clock) = own.filter(agrees).or(factor) else {
            return Self { change: effect.change, is_clocks: false, words: None };
        };
        // A core's clock is a small part of a large change of memory's, and none of it.
        let most_left = if is_bound || factor.is_some() { log.abs() } else { log.abs() / 2.0 };
        let is_clocks = (log - clock).abs() < most_left;
        let unsure = match (is_clocks, factor) {
            (true, Some(_)) => UNSURE_TOGETHER,
            (true, None) => UNSURE_ALONE,
            (false, Some(_)) => UNSURE_ALONE,
            (false, None) if is_bound => 1.0,
            (false, None) => 0.0,
        };
        let unknown = Spread { variance: (clock * unsure).powi(2), degrees: f64::INFINITY };
        let log = if is_clocks { log - clock } else { log };
        let words = match factor {
            Some(_) if !is_clocks => Some(DIDNT_FOLLOW.to_owned()),
            None if clock.abs() > margin / 4.0 => {
                Some(format!("the clock next to it moved by {:+.1} %", 100.0 * clock.exp_m1()))
            }
            _ => None,
        };
        Self { change: Change { log, spread: sum([spread, unknown]), moved }, is_clocks, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(class: Repeatability, percent: f64, clock: Option<f64>, factor: Option<f64>) -> (f64, f64) {
        let spread = Spread { variance: 1e-8, degrees: 10.0 };
        let effect = Effect {
            change: Change { log: percent / 100.0, spread, moved: 0.0 },
            class,
            clock: clock.map(|percent| percent / 100.0),
            core_clock: None,
            undecided: None,
        };
        let factors = factor.map(|percent| Factor {
            class: Repeatability::Core,
            log: percent / 100.0,
            sharing: 9,
            cases: 10,
            experiments: 3,
            clock: Some(percent / 100.0),
        });
        let Remainder { change, .. } = Remainder::of(&effect, factors.as_slice(), 0.01);
        let rounded = |value: f64| (value * 1e4).round() / 100.0;
        (rounded(change.log), rounded(change.spread.variance.sqrt()))
    }

    #[test]
    fn a_clock_explains_no_more_than_brings_a_change_nearer_to_none() {
        let core = |percent, clock, factor| left(Repeatability::Core, percent, clock, factor);
        assert_eq!(core(0.8, Some(0.9), None), (-0.1, 0.3), "it followed its own clock");
        assert_eq!(core(0.0, Some(0.9), None), (0.0, 0.9), "it didn't, and might have");
        assert_eq!(core(-2.0, None, Some(-2.0)), (0.0, 0.2));
        assert_eq!(core(-1.2, Some(-1.2), Some(-2.0)), (0.0, 0.12), "its own clock is nearer to it");
        assert_eq!(core(0.0, None, Some(-5.0)).0, 0.0, "one that didn't follow isn't faster");
        assert_eq!(core(-2.0, Some(0.1), Some(-2.0)), (0.0, 0.2), "its own clock is another matter");
        let memory = |percent, clock| left(Repeatability::Memory, percent, Some(clock), Some(-2.0));
        assert_eq!(
            (memory(0.8, 0.9).0, memory(0.0, 0.9)),
            (-0.1, (0.0, 0.01)),
            "caches follow the core's clock, memory doesn't"
        );
        assert_eq!(left(Repeatability::Launch, -2.0, Some(-2.0), Some(-2.0)), (-2.0, 0.01));
    }
}
