//! Who is faster with more work, all else alike, can't be right.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use crate::plan::Amount;
use crate::stats::Interval;
use crate::units::Nanos;

/// A time with more work below this share of one with less is implausible, where their intervals don't touch. Closer ones happen:
/// a launch, a partly filled device or a fortunate alignment hides a little more work.
const FASTER: f64 = 0.9;

/// A case is held against so many of the next ones with less work, and with more. A sweep may have hundreds of thousands.
const NEIGHBOURS: usize = 64;

/// The measured cases along axes of work.
#[derive(Clone, Debug, Default)]
pub struct Monotone {
    /// By what is alike: amounts of work, and their times.
    known: HashMap<String, BTreeMap<u64, Time>>,
}

#[derive(Clone, Copy, Debug)]
struct Time {
    time: f64,
    interval: Interval,
}

impl Monotone {
    /// Notes a case with this amount of work, its time and the interval of that, in ns, and says what is implausible about it next
    /// to those noted before.
    pub fn judge(&mut self, work: &Amount, time: f64, interval: Interval) -> Option<String> {
        let Amount { axis, amount, alike } = work;
        let time = Time { time, interval };
        let others = self.known.entry(alike.clone()).or_default();
        let mut less = others.range(..*amount).rev().take(NEIGHBOURS);
        let mut more = others.range((Bound::Excluded(*amount), Bound::Unbounded)).take(NEIGHBOURS);
        let implausible = less
            .find(|(_, known)| is_faster(&time, known))
            .map(|(other, known)| said(axis, (*amount, &time), (*other, known)))
            .or_else(|| {
                let (other, known) = more.find(|(_, known)| is_faster(known, &time))?;
                Some(said(axis, (*other, known), (*amount, &time)))
            });
        others.insert(*amount, time);
        implausible
    }
}

fn is_faster(more: &Time, less: &Time) -> bool {
    more.time < FASTER * less.time && more.interval.high < less.interval.low
}

fn said(axis: &str, (more, quick): (u64, &Time), (less, slow): (u64, &Time)) -> String {
    let [quick, slow] = [quick, slow].map(|time| Nanos(time.time));
    format!("{axis}={more} takes {quick}, though {axis}={less} takes {slow}: more work can't be faster")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(time: f64, noise: f64) -> Time {
        Time { time, interval: Interval { low: time * (1.0 - noise), high: time * (1.0 + noise) } }
    }

    #[test]
    fn only_what_is_clearly_faster_is_implausible() {
        assert!(is_faster(&time(80.0, 0.05), &time(100.0, 0.05)));
        assert!(!is_faster(&time(80.0, 0.2), &time(100.0, 0.2)), "their intervals touch");
        assert!(!is_faster(&time(95.0, 0.001), &time(100.0, 0.001)), "too near");
        assert!(!is_faster(&time(100.0, 0.01), &time(80.0, 0.01)), "slower");
    }
}
