//! Where a figure bends: from which value of an axis on it is as good as it gets, or up to which it stays so.
//!
//! A sweep has a knee where the figure comes within a tenth of the best that it reaches. Nothing is fitted: devices bend in steps
//! (another workgroup fits, another wave begins), which no smooth law describes. A sweep that can't show a knee has none, and why.

use super::sweep::{Telling, grouped};
use crate::model::{Derived, Figure, Finished, NoFigure, Point};

/// A figure is as good as the best if it is at least this share of it: a percentage, which the notes tell.
const ENOUGH_PERCENT: u32 = 90;
/// Fewer values than these tell no knee.
pub const LEAST_MARKS: usize = 5;
/// A rise is one from at most this share of the best.
const LOW: f64 = 0.5;
/// A plateau is seen where the sweep goes on to so many times the knee.
const BEYOND: u64 = 2;
/// So many values have to lie on a plateau, and so many behind its end: one may be anything.
const LEAST_ALIKE: usize = 2;

/// A value of the axis and the rate there: work over time, in whatever unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub at: u64,
    /// The rate, and the ends of its interval.
    pub rate: f64,
    low: f64,
    high: f64,
}

impl Mark {
    /// A finished row that has done so much work.
    pub fn new(at: u64, work: f64, row: &Finished) -> Self {
        let (low, high) = row.rate_ends(work);
        Self { at, rate: work / row.time, low, high }
    }

    fn is_number(&self) -> bool {
        self.rate.is_finite() && self.rate > 0.0
    }
}

/// A knee of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The value of the axis: the first that is as good as the best, or the last.
    pub at: u64,
    /// Between which values the figure bends, as far as the rows' intervals tell: at the first of them it hasn't yet for sure,
    /// at the second it has.
    pub between: (u64, u64),
    /// The value with the best figure.
    best_at: u64,
    /// The share of the best at the other end of the sweep: the smallest value of a rise, the largest of a fall.
    end: (u64, f64),
    /// The smallest share of the best among values on the plateau of a rise, where some wave is partly empty.
    dip: Option<(u64, f64)>,
}

impl Knee {
    #[expect(clippy::cast_precision_loss, reason = "values of axes that were measured are far below 2^53")]
    pub fn figure(&self) -> Figure {
        Figure { value: self.at as f64, interval: Some((self.between.0 as f64, self.between.1 as f64)) }
    }

    /// What it rests on, for an axis of this name.
    pub fn note(&self, axis: &str) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let (end_at, end) = self.end;
        let dip = self.dip.map(|(at, share)| format!("; beyond, the lowest is {} at {axis}={at}", percent(share)));
        format!(
            "at {axis}={} the figure is within {} % of the best, which is at {axis}={}; at {axis}={end_at} it is {} of it{}",
            self.at,
            100 - ENOUGH_PERCENT,
            self.best_at,
            percent(end),
            dip.unwrap_or_default()
        )
    }
}

/// The marks in order, which have to be enough, and the best of them.
fn sorted(axis: &str, marks: &[Mark]) -> Result<(Vec<Mark>, Mark), NoFigure> {
    let mut sorted = marks.to_vec();
    sorted.sort_by_key(|mark| mark.at);
    sorted.dedup_by_key(|mark| mark.at);
    if sorted.len() < LEAST_MARKS {
        let reason = format!("no knee to be told: {} values of {axis} were measured, {LEAST_MARKS} are needed", sorted.len());
        return Err(NoFigure::TooFew(reason));
    }
    if !sorted.iter().all(Mark::is_number) {
        return Err("no knee to be told: a time is no positive number".to_owned().into());
    }
    let best = sorted.iter().copied().max_by(|a, b| a.rate.total_cmp(&b.rate));
    best.map(|best| (sorted, best)).ok_or_else(|| NoFigure::TooFew("no knee to be told: nothing was measured".to_owned()))
}

/// Where a rate that rises along an axis has come up to the best.
pub fn rise(axis: &str, marks: &[Mark]) -> Result<Knee, NoFigure> {
    let (marks, best) = sorted(axis, marks)?;
    let level = level(&best);
    let (first, last) = (marks[0], marks[marks.len() - 1]);
    if first.rate > LOW * best.rate {
        let percent = 100.0 * first.rate / best.rate;
        return Err(format!("no knee seen: {axis}={} already gives {percent:.0} % of the best", first.at).into());
    }
    let place = marks.iter().position(|mark| mark.rate >= level).unwrap_or_default();
    let (knee, behind) = (marks[place], &marks[place + 1..]);
    if last.at < knee.at.saturating_mul(BEYOND) || marks.iter().filter(|mark| mark.rate >= level).count() < LEAST_ALIKE {
        return Err(format!("no knee seen: the figure still rises at {axis}={}, larger values may show it", knee.at).into());
    }
    let below = marks[..place].iter().rev().find(|mark| mark.high < level).ok_or_else(unsure)?;
    let above = marks[place..].iter().find(|mark| mark.low >= level).ok_or_else(unsure)?;
    let dip = behind.iter().filter(|mark| mark.rate < level).min_by(|a, b| a.rate.total_cmp(&b.rate));
    Ok(Knee {
        at: knee.at,
        between: (below.at, above.at),
        best_at: best.at,
        end: (first.at, first.rate / best.rate),
        dip: dip.map(|mark| (mark.at, mark.rate / best.rate)),
    })
}

/// Up to where a rate that falls along an axis in the end stays with the best.
pub fn fall(axis: &str, marks: &[Mark]) -> Result<Knee, NoFigure> {
    let (marks, best) = sorted(axis, marks)?;
    let level = level(&best);
    let last = marks[marks.len() - 1];
    let place = marks.iter().rposition(|mark| mark.rate >= level).unwrap_or_default();
    let behind = &marks[place + 1..];
    if behind.len() < LEAST_ALIKE {
        let within = 100 - ENOUGH_PERCENT;
        return Err(
            format!("no knee seen: up to {axis}={} the figure stays within {within} % of the best", marks[place].at).into()
        );
    }
    let above = marks[..=place].iter().rev().find(|mark| mark.low >= level).ok_or_else(unsure)?;
    let below = behind.iter().find(|mark| mark.high < level).ok_or_else(unsure)?;
    let end = (last.at, last.rate / best.rate);
    Ok(Knee { at: marks[place].at, between: (above.at, below.at), best_at: best.at, end, dip: None })
}

fn unsure() -> String {
    "no knee seen: the rows' intervals are too wide to tell one".to_owned()
}

fn level(best: &Mark) -> f64 {
    best.rate * f64::from(ENOUGH_PERCENT) / 100.0
}

/// What each value of an axis gives, where so much work is done at a value.
pub fn marks(axis: &str, rows: &[&Finished], work: fn(f64) -> f64) -> Vec<Mark> {
    #[expect(clippy::cast_precision_loss, reason = "values of axes that were measured are far below 2^53")]
    let mark = |at: u64, row: &Finished| Mark::new(at, work(at as f64), row);
    rows.iter().map(|row| mark(row.point.integer(axis), row)).collect()
}

/// The derived row of a sweep along an axis, with its name, variant, metric and unit.
pub fn told(
    [experiment, variant, metric, unit]: [&'static str; 4],
    axis: &str,
    point: &Point,
    knee: &Result<Knee, NoFigure>,
) -> Derived {
    let note = knee.as_ref().map_or_else(|_| String::new(), |knee| knee.note(axis));
    let figure = knee.as_ref().map(Knee::figure).map_err(NoFigure::clone);
    Telling { experiment, point, note: &note }.row(variant, [metric, unit, ""], figure)
}

/// The derived rows of all sweeps along an axis that is no work, and makes it slower in the end.
pub fn falls(name: [&'static str; 4], axis: &str, rows: &[Finished]) -> Vec<Derived> {
    let fall = |rows: &[&Finished]| fall(axis, &marks(axis, rows, |_| 1.0));
    grouped(rows, &[axis]).iter().map(|(point, rows)| told(name, axis, point, &fall(rows))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rates by a law, with intervals of this half width.
    fn marks(values: &[u64], noise: f64, law: impl Fn(f64) -> f64) -> Vec<Mark> {
        let mark = |at: u64| {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let rate = law(at as f64);
            Mark { at, rate, low: rate * (1.0 - noise), high: rate * (1.0 + noise) }
        };
        values.iter().map(|at| mark(*at)).collect()
    }

    const POWERS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

    #[test]
    fn a_rise_ends_where_the_plateau_begins() {
        let knee = rise("groups", &marks(&POWERS, 0.01, |x| x.min(64.0))).unwrap();
        assert_eq!((knee.at, knee.between), (64, (32, 64)));
        assert_eq!(
            knee.note("groups"),
            "at groups=64 the figure is within 10 % of the best, which is at groups=512; at groups=1 it is 2 % of it"
        );
        assert_eq!(knee.figure(), Figure { value: 64.0, interval: Some((32.0, 64.0)) });
    }

    #[test]
    fn waves_that_are_partly_empty_are_told() {
        // 100 at a time: 128 take as long as 200.
        let knee = rise("groups", &marks(&[1, 25, 50, 100, 128, 200, 400], 0.0, |x| x / (x / 100.0).ceil())).unwrap();
        assert_eq!(knee.at, 100);
        assert!(knee.note("groups").ends_with("; beyond, the lowest is 64 % at groups=128"), "{}", knee.note("groups"));
    }

    #[test]
    fn what_intervals_can_not_tell_widens_the_knees() {
        // 60 of 64 is above the level, but its interval isn't.
        let law = |x: f64| if x == 32.0 { 60.0 } else { x.min(64.0) };
        assert_eq!(rise("groups", &marks(&POWERS, 0.08, law)).unwrap().between, (16, 64));
        let law = |x: f64| {
            if x <= 8.0 {
                64.0
            } else if x == 16.0 {
                60.0
            } else {
                20.0
            }
        };
        let knee = fall("bytes", &marks(&POWERS, 0.08, law)).unwrap();
        assert_eq!((knee.at, knee.between), (16, (8, 32)));
    }

    #[test]
    fn a_fall_begins_where_the_plateau_ends() {
        let law = |x: f64| 100.0 / (x / 16.0).max(1.0);
        let knee = fall("bytes", &marks(&POWERS, 0.01, law)).unwrap();
        assert_eq!((knee.at, knee.between, knee.end), (16, (16, 32), (512, 1.0 / 32.0)));
        // It may rise first.
        let law = |x: f64| if x < 8.0 { x } else { 100.0 / (x / 16.0).max(1.0) };
        assert_eq!(fall("bytes", &marks(&POWERS, 0.01, law)).unwrap().at, 16);
        // And dip in between.
        let law = |x: f64| if x == 4.0 { 50.0 } else { 100.0 / (x / 16.0).max(1.0) };
        assert_eq!(fall("bytes", &marks(&POWERS, 0.01, law)).unwrap().at, 16);
    }

    #[test]
    fn sweeps_without_a_knee_say_why() {
        let rise = |values: &[u64], law: fn(f64) -> f64| rise("x", &marks(values, 0.02, law)).unwrap_err().to_string();
        assert_eq!(rise(&POWERS[..4], |x| x), "no knee to be told: 4 values of x were measured, 5 are needed");
        assert_eq!(rise(&[1, 1, 1, 1, 1, 2], |x| x), "no knee to be told: 2 values of x were measured, 5 are needed");
        assert_eq!(rise(&POWERS, |_| 1.0), "no knee seen: x=1 already gives 100 % of the best");
        assert_eq!(rise(&POWERS, |x| x), "no knee seen: the figure still rises at x=512, larger values may show it");
        assert_eq!(rise(&POWERS, |x| if x == 8.0 { 9.0 } else { 1.0 }).split(", ").count(), 2, "one value alone");
        assert_eq!(rise(&POWERS, |x| if x == 8.0 { f64::NAN } else { x }), "no knee to be told: a time is no positive number");
        let fall = |law: fn(f64) -> f64| fall("x", &marks(&POWERS, 0.02, law)).unwrap_err().to_string();
        assert_eq!(fall(|_| 1.0), "no knee seen: up to x=512 the figure stays within 10 % of the best");
        assert_eq!(fall(|x| x), "no knee seen: up to x=512 the figure stays within 10 % of the best");
        let last_alone = fall(|x| if x == 512.0 { 0.2 } else { 1.0 });
        assert_eq!(last_alone, "no knee seen: up to x=256 the figure stays within 10 % of the best");
    }

    #[test]
    fn noise_is_no_knee() {
        let unsure = "no knee seen: the rows' intervals are too wide to tell one";
        assert_eq!(rise("x", &marks(&POWERS, 0.5, |x| if x < 16.0 { 40.0 } else { 100.0 })).unwrap_err().to_string(), unsure);
        assert_eq!(fall("x", &marks(&POWERS, 0.5, |x| if x < 16.0 { 100.0 } else { 80.0 })).unwrap_err().to_string(), unsure);
    }

    #[test]
    fn rates_have_the_intervals_of_their_times() {
        let row = |time, interval| Finished { time, interval, ..Finished::default() };
        assert_eq!(Mark::new(3, 8.0, &row(4.0, None)), Mark { at: 3, rate: 2.0, low: 2.0, high: 2.0 });
        assert_eq!(Mark::new(3, 8.0, &row(4.0, Some((2.0, 8.0)))), Mark { at: 3, rate: 2.0, low: 1.0, high: 4.0 });
        // One that reaches below nothing tells no upper end.
        assert_eq!(Mark::new(3, 8.0, &row(4.0, Some((-2.0, 8.0)))).high, f64::INFINITY);
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn a_knee_is_found_in_any_order_and_unit(at in 2..7_usize, scale in 0.1..1e6_f64, seed in any::<u64>()) {
            let top = POWERS[at];
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let law = |x: f64| scale * x.min(top as f64);
            let mut rising = marks(&POWERS, 0.02, law);
            let middle = usize::try_from(seed % 10).unwrap();
            rising.rotate_left(middle);
            let knee = rise("x", &rising).unwrap();
            prop_assert_eq!(knee.at, top);
            prop_assert!(knee.between.0 <= knee.at && knee.at <= knee.between.1);
            // The other way round it is the end of a fall.
            let falling: Vec<Mark> = rising.iter().map(|mark| Mark { at: 512 / mark.at, ..*mark }).collect();
            prop_assert_eq!(fall("x", &falling).unwrap().at, 512 / top);
        }
    }
}
