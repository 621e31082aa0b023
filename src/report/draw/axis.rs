//! An axis: its ends, and the numbers that stand at it.

use super::super::chart::{Scale, Ticks};
use super::text;

/// No more numbers than these.
const MOST: usize = 10;
/// What is free at both ends of an axis across, at least.
pub const BESIDE: f64 = 24.0;

pub struct Axis {
    pub low: f64,
    pub high: f64,
    pub is_log: bool,
    pub ticks: Vec<(f64, String)>,
}

/// The room for an axis's numbers.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// Side by side, on so many pixels.
    Across(f64, f64),
    /// One above the other, on so many pixels.
    Upright(f64),
}

/// Whether a number can be drawn on an axis.
pub fn can_hold(value: f64, is_log: bool) -> bool {
    value.is_finite() && value.abs() < 1e290 && (!is_log || value > 1e-290)
}

impl Axis {
    /// One that holds the values, with a little room at its ends; those that can't be drawn are passed over.
    pub fn around(scale: &Scale, values: impl IntoIterator<Item = f64>, room: Room) -> Self {
        let (low, high) = ends(values, scale.is_log).unwrap_or(if scale.is_log { (1.0, 10.0) } else { (0.0, 1.0) });
        let (low, high) = if scale.is_log { padded_log(low, high) } else { padded(low, high) };
        let are_ends_read = scale.is_log && scale.ticks == Ticks::Plain && matches!(room, Room::Upright(_));
        let (low, high) = if are_ends_read { to_ticks(low, high) } else { (low, high) };
        Self::new(scale, low, high, room)
    }

    /// One that begins at zero, or ends there where all values are below.
    pub fn from_zero(scale: &Scale, values: impl IntoIterator<Item = f64>, room: Room) -> Self {
        let (low, high) = ends(values.into_iter().chain([0.0]), false).unwrap_or_default();
        let (low, high) = if low == high { (0.0, 1.0) } else { (low, high) };
        let pad = (high - low) * 0.02;
        let (low, high) = (if low < 0.0 { low - pad } else { low }, if high > 0.0 { high + pad } else { high });
        Self::new(&Scale { is_log: false, ..scale.clone() }, low, high, room)
    }

    pub fn new(scale: &Scale, low: f64, high: f64, room: Room) -> Self {
        let axis = Self { low, high, is_log: scale.is_log, ticks: Vec::new() };
        let candidates = candidates(&axis, scale.ticks);
        axis.with_best(candidates, room)
    }

    /// One that has the first of these sets of numbers that it has room for.
    pub fn with_best(mut self, candidates: Vec<Vec<(f64, String)>>, room: Room) -> Self {
        let within = |ticks: Vec<(f64, String)>| -> Vec<(f64, String)> {
            ticks.into_iter().filter(|(at, text)| self.low <= *at && *at <= self.high && self.stays(*at, text, room)).collect()
        };
        let candidates: Vec<_> = candidates.into_iter().map(within).filter(|ticks| self.has_room(ticks, room)).collect();
        let of_at_least = |least: usize| candidates.iter().find(|ticks| ticks.len() >= least);
        self.ticks = of_at_least(3).or_else(|| of_at_least(2)).or_else(|| of_at_least(1)).cloned().unwrap_or_default();
        self
    }

    /// One without numbers, for what has names instead.
    pub fn bare() -> Self {
        Self { low: 0.0, high: 1.0, is_log: false, ticks: Vec::new() }
    }

    /// Whether the text at a place goes beyond the ends of the axis by no more than what is free there.
    fn stays(&self, at: f64, text: &str, room: Room) -> bool {
        let Room::Across(length, size) = room else { return true };
        let (middle, half) = (self.share(at) * length, text::width(text, size) / 2.0);
        middle - half >= -BESIDE && middle + half <= length + BESIDE
    }

    fn has_room(&self, ticks: &[(f64, String)], room: Room) -> bool {
        let half = |text: &str| match room {
            Room::Across(_, size) => text::width(text, size) / 2.0 + 4.0,
            Room::Upright(_) => 11.0,
        };
        let (Room::Across(length, _) | Room::Upright(length)) = room;
        ticks.len() <= MOST
            && ticks.windows(2).all(|pair| match pair {
                [(a, first), (b, second)] => {
                    first != second && (self.share(*b) - self.share(*a)) * length >= half(first) + half(second)
                }
                _ => true,
            })
    }

    /// Where a value lies between the ends, from 0 to 1; what is beyond an end lies at it.
    pub fn share(&self, value: f64) -> f64 {
        let share = if self.is_log {
            if value <= self.low { 0.0 } else { (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()) }
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    pub fn widest(&self, size: f64) -> f64 {
        text::widest(self.ticks.iter().map(|(_, text)| text), size)
    }
}

/// The smallest and the largest of those that can be drawn.
pub fn ends(values: impl IntoIterator<Item = f64>, is_log: bool) -> Option<(f64, f64)> {
    let values = values.into_iter().filter(|value| can_hold(*value, is_log));
    values.fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

fn padded_log(low: f64, high: f64) -> (f64, f64) {
    let width = high.ln() - low.ln();
    if width < 1e-6 {
        return (low / 2.0, high * 2.0);
    }
    let pad = (width * 0.03).exp();
    (low / pad, high * pad)
}

/// To the next number that may stand at the axis, where that takes little: ends without a number are hard to read.
fn to_ticks(low: f64, high: f64) -> (f64, f64) {
    let numbers = |near: f64| {
        powers(10.0, near / 20.0, near * 2.0, 1).into_iter().flat_map(|one| [one, 2.0 * one, 5.0 * one, 10.0 * one])
    };
    let below = numbers(low).filter(|number| *number <= low && *number >= low * 0.75).fold(low, f64::min);
    let above = numbers(high).filter(|number| *number >= high && *number <= high / 0.75).fold(high, f64::max);
    (below, above)
}

/// From zero where that leaves half of the axis for what differs.
fn padded(low: f64, high: f64) -> (f64, f64) {
    let largest = low.abs().max(high.abs());
    if largest == 0.0 {
        return (0.0, 1.0);
    }
    if high - low <= largest * 1e-9 {
        return (low - largest * 0.1, high + largest * 0.1);
    }
    let pad = (high - low) * 0.04;
    if low >= 0.0 && low <= 0.5 * high { (0.0, high + pad) } else { (low - pad, high + pad) }
}

/// Sets of numbers, from many to few.
fn candidates(axis: &Axis, kind: Ticks) -> Vec<Vec<(f64, String)>> {
    let Axis { low, high, .. } = *axis;
    let named = |ticks: Vec<f64>| -> Vec<(f64, String)> {
        let name = match kind {
            Ticks::Plain if ticks.iter().all(|at| text::is_plain(*at)) => text::plain,
            // All in one form.
            Ticks::Plain => text::power,
            Ticks::Binary => text::binary,
            Ticks::Bytes => text::bytes,
        };
        ticks.into_iter().map(|at| (at, name(at))).collect()
    };
    let even = || [9.0, 7.0, 5.0, 4.0, 3.0, 2.0].map(|parts| even_steps(low, high, parts, kind)).to_vec();
    if !axis.is_log {
        return even();
    }
    let powers = match kind {
        Ticks::Plain => decades(low, high),
        Ticks::Binary | Ticks::Bytes => {
            [1, 2, 3, 4, 5, 10, 20, 40, 80, 160, 320, 640].map(|stride| powers(2.0, low, high, stride)).to_vec()
        }
    };
    let powers = powers.into_iter().map(named);
    // Few powers lie between ends that are close together.
    if high / low < 5.0 { even().into_iter().chain(powers).collect() } else { powers.chain(even()).collect() }
}

/// 1, 2, 5 and their multiples, then powers of ten with more and more left out.
fn decades(low: f64, high: f64) -> Vec<Vec<f64>> {
    let ones = powers(10.0, low / 10.0, high, 1);
    let with = |factors: &[f64]| ones.iter().flat_map(|one| factors.iter().map(move |factor| one * factor)).collect();
    let mut sets = vec![with(&[1.0, 2.0, 5.0]), with(&[1.0, 3.0])];
    sets.extend([1, 2, 3, 5, 10, 20, 50, 100, 200].map(|stride| powers(10.0, low, high, stride)));
    sets
}

/// The powers between two numbers whose exponents are multiples of the stride.
#[expect(clippy::cast_possible_truncation, reason = "exponents of floats are within -1100 and 1100")]
fn powers(base: f64, low: f64, high: f64, stride: i32) -> Vec<f64> {
    let of = |value: f64| value.ln() / base.ln();
    let (first, last) = ((of(low) - 1e-9).ceil() as i32, (of(high) + 1e-9).floor() as i32);
    (first..=last).filter(|exponent| exponent % stride == 0).map(|exponent| base.powi(exponent)).collect()
}

/// Numbers that are so far apart that about as many parts lie between the ends: by 1, 2 or 5, or by a power of two.
fn even_steps(low: f64, high: f64, parts: f64, kind: Ticks) -> Vec<(f64, String)> {
    let wanted = (high - low) / parts;
    let ten = 10_f64.powf(wanted.log10().floor());
    let step = match kind {
        // Below one byte there is nothing to halve.
        Ticks::Binary | Ticks::Bytes if wanted >= 1.0 => wanted.log2().ceil().exp2(),
        _ => [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * ten).find(|step| *step >= wanted * 0.999).unwrap_or(wanted),
    };
    let first = (low / step - 1e-9).ceil();
    let all = (0..=2 * MOST).map(|i| (first + i as f64) * step).take_while(|at| *at <= high + step * 1e-9);
    // Minus zero is zero.
    let all: Vec<f64> = all.map(|at| if at.abs() < step * 1e-6 { 0.0 } else { at }).collect();
    let largest = all.iter().fold(0.0_f64, |largest, at| largest.max(at.abs()));
    let name = |at: f64| match kind {
        Ticks::Plain => text::stepped(at, step, largest),
        Ticks::Binary => text::binary(at),
        Ticks::Bytes => text::bytes(at),
    };
    all.into_iter().map(|at| (at, name(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(is_log: bool, ticks: Ticks, values: &[f64]) -> Vec<String> {
        let scale = Scale { label: String::new(), is_log, ticks };
        let axis = Axis::around(&scale, values.iter().copied(), Room::Across(500.0, 11.0));
        axis.ticks.iter().map(|(_, text)| text.clone()).collect()
    }

    #[test]
    fn numbers_are_those_that_people_expect() {
        let sizes = texts(true, Ticks::Bytes, &[1024.0, 1_073_741_824.0]);
        assert_eq!(sizes, ["4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB", "128 MiB", "1 GiB"]);
        assert_eq!(texts(true, Ticks::Binary, &[1.0, 32.0]), ["1", "2", "4", "8", "16", "32"]);
        assert_eq!(texts(true, Ticks::Plain, &[1.0, 100.0]), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(texts(false, Ticks::Plain, &[0.0, 10.0]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(
            texts(true, Ticks::Plain, &[1e-9, 1e15]),
            ["10⁻⁹", "10⁻⁶", "10⁻³", "10⁰", "10³", "10⁶", "10⁹", "10¹²", "10¹⁵"]
        );
    }

    #[test]
    fn every_axis_has_few_numbers_that_differ() {
        let ranges: [&[f64]; 10] = [
            &[],
            &[5.0],
            &[0.0],
            &[1e15, 1e15 + 1.0],
            &[1e-9, 1e15],
            &[1e-280, 1e280],
            &[300.0, 310.0],
            &[f64::NAN, 1.0, f64::INFINITY],
            &[-5.0, 7.0],
            &[1e-320, 1.0],
        ];
        for values in ranges {
            for ticks in [Ticks::Plain, Ticks::Binary, Ticks::Bytes] {
                for is_log in [false, true] {
                    let texts = texts(is_log, ticks, values);
                    let is_right = (1..=MOST).contains(&texts.len()) && texts.windows(2).all(|pair| pair[0] != pair[1]);
                    assert!(is_right, "{values:?} {ticks:?} {is_log}: {texts:?}");
                }
            }
        }
    }
}
