//! Who is faster with more work, all else alike, can't be right.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::digest::hash64;
use crate::plan::Amount;
use crate::stats::Interval;
use crate::units::Nanos;

/// A time with more work below this share of one with less is implausible, where their intervals don't touch. Closer ones happen:
/// a launch, a partly filled device or a fortunate alignment hides a little more work.
const FASTER: f64 = 0.9;

/// A case is held against so many of the next ones with less work, and with more. A sweep may have hundreds of thousands.
const NEIGHBOURS: usize = 64;

/// The measured cases along axes of work. A sweep may have hundreds of thousands: each takes some 45 bytes here.
#[derive(Clone, Debug, Default)]
pub struct Monotone {
    /// By a hash of what is alike, and by amounts of work. Of a million words hardly two have one hash of 64 bits.
    known: BTreeMap<(u64, u64), Time>,
}

/// A time and the ends of its interval, as exactly as they are compared.
#[derive(Clone, Copy, Debug)]
struct Time {
    time: f32,
    low: f32,
    high: f32,
}

impl Time {
    #[expect(clippy::cast_possible_truncation, reason = "times that differ by less than a tenth are never told apart")]
    fn new(time: f64, Interval { low, high }: Interval) -> Self {
        Self { time: time as f32, low: low as f32, high: high as f32 }
    }
}

impl Monotone {
    /// Notes a case with this work, its time and the interval of that, ns, and says what is implausible beside those noted before.
    pub fn judge(&mut self, work: &Amount, time: f64, interval: Interval) -> Option<String> {
        let Amount { axis, amount, alike } = work;
        let time = Time::new(time, interval);
        let key = hash64(alike);
        let mut less = self.known.range((key, 0)..(key, *amount)).rev().take(NEIGHBOURS);
        let above = (Bound::Excluded((key, *amount)), Bound::Included((key, u64::MAX)));
        let mut more = self.known.range(above).take(NEIGHBOURS);
        let implausible = less
            .find(|(_, known)| is_faster(&time, known))
            .map(|((_, other), known)| said(axis, (*amount, &time), (*other, known)))
            .or_else(|| {
                let ((_, other), known) = more.find(|(_, known)| is_faster(known, &time))?;
                Some(said(axis, (*other, known), (*amount, &time)))
            });
        self.known.insert((key, *amount), time);
        implausible
    }
}

fn is_faster(more: &Time, less: &Time) -> bool {
    f64::from(more.time) < FASTER * f64::from(less.time) && more.high < less.low
}

fn said(axis: &str, (more, quick): (u64, &Time), (less, slow): (u64, &Time)) -> String {
    let [quick, slow] = [quick, slow].map(|time| Nanos(time.time.into()));
    format!("{axis}={more} takes {quick}, though {axis}={less} takes {slow}: more work can't be faster")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(time: f64, noise: f64) -> Time {
        Time::new(time, Interval { low: time * (1.0 - noise), high: time * (1.0 + noise) })
    }

    /// A sweep of hundreds of thousands is held whole; a node of the tree is full to two thirds or more.
    #[test]
    fn a_case_takes_few_bytes() {
        assert!(size_of::<((u64, u64), Time)>() * 3 / 2 <= 48);
    }

    #[test]
    fn what_is_alike_is_told_by_its_name() {
        let mut known = Monotone::default();
        let mut judge = |alike: &str, amount, of| {
            let work = Amount { axis: "n".to_owned(), amount, alike: alike.to_owned() };
            known.judge(&work, of, Interval { low: of * 0.99, high: of * 1.01 })
        };
        assert_eq!(judge("a", 1, 100.0), None);
        assert_eq!(judge("b", 2, 50.0), None, "of another kind");
        assert_eq!(judge("a", 2, 95.0), None, "too near");
        let less = judge("a", 4, 50.0).unwrap();
        assert!(less.contains("n=4") && less.contains("n=2"), "{less}");
        let more = judge("a", 0, 200.0).unwrap();
        assert!(more.contains("n=0") && more.contains("n=1"), "{more}");
    }

    #[test]
    fn only_what_is_clearly_faster_is_implausible() {
        assert!(is_faster(&time(80.0, 0.05), &time(100.0, 0.05)));
        assert!(!is_faster(&time(80.0, 0.2), &time(100.0, 0.2)), "their intervals touch");
        assert!(!is_faster(&time(95.0, 0.001), &time(100.0, 0.001)), "too near");
        assert!(!is_faster(&time(100.0, 0.01), &time(80.0, 0.01)), "slower");
    }
}
