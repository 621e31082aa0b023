//! Units as types: raw device ticks can't pass for nanoseconds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stats::Ratio;

/// A raw timestamp value, as the device wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Nanos(#[serde(with = "crate::model::real")] pub f64);

/// A number of bytes, printed in binary units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Nanos {
    pub fn from_duration(duration: std::time::Duration) -> Self {
        Self(duration.as_secs_f64() * 1e9)
    }

    /// As the standard library's duration; what can't be one is none.
    pub fn to_duration(self) -> std::time::Duration {
        std::time::Duration::try_from_secs_f64(self.seconds()).unwrap_or_default()
    }

    pub fn seconds(self) -> f64 {
        self.0 * 1e-9
    }
}

/// In the fitting unit, for people who are told no interval: `12.3 us`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&time(self.0, None))
    }
}

impl fmt::Display for Bytes {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024.0 {
                let digits = usize::from(value.fract() != 0.0);
                return write!(f, "{value:.digits$} {unit}");
            }
            value /= 1024.0;
        }
        write!(f, "{value:.1} TiB")
    }
}

// ---- figures for people ---------------------------------------------------------------------------------------------------

/// The fewest significant digits that people are shown, and the most.
const DIGITS: (i32, i32) = (2, 4);

/// From this ratio of its ends on, an interval stands in its figure's place.
const WIDE: f64 = 1.25;

/// Units of time, and how many nanoseconds each has.
const TIMES: [(f64, &str); 5] = [(1e-3, "ps"), (1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];

/// From here on, and below, a number has a power of ten instead of a row of zeros.
const LARGE: f64 = 1e15;
const SMALL: f64 = 1e-4;

/// A number with the digits that its interval allows, of which this is half: two to four. Without an interval, whole numbers are
/// counts and shown whole, others have four.
pub fn rounded(value: f64, half: Option<f64>) -> String {
    let is_count = half.is_none() && value.fract() == 0.0 && value.abs() < LARGE;
    if value == 0.0 || !value.is_finite() || is_count {
        return format!("{value}");
    }
    at_place(value, place(value, half))
}

/// A time in the fitting unit, with the digits that its interval allows, of which this is half: `391.0 us`, or `390 us`. Without an
/// interval, it is known from few samples, and has three.
pub fn time(ns: f64, half: Option<f64>) -> String {
    in_unit(ns, |value| {
        if value == 0.0 || !value.is_finite() {
            return format!("{value}");
        }
        at_place(value, half.map_or_else(|| place_of(value, 3), |half| place(value, Some(half * value / ns))))
    })
}

/// A ratio with the digits that its interval allows, of which this is half. Near 1 it is read by how far it is from 1, so that it has
/// the same decimals on both sides: `0.9997` and `1.0002`.
pub fn ratio(value: f64, half: Option<f64>) -> String {
    at_place(value, ratio_place(value, half))
}

/// A ratio with both ends of its interval, all to the same place: `2.020 [2.014, 2.023]`.
pub fn ratio_between(Ratio { value, low, high }: Ratio) -> String {
    let place = ratio_place(value, Some((high - low) / 2.0));
    format!("{} [{}, {}]", at_place(value, place), at_place(low, place), at_place(high, place))
}

/// By how many percent a ratio, of which half the interval is this, is above or below 1: in tenths where these can be told.
pub fn percent_off(ratio: f64, half: f64) -> String {
    let decimals = usize::from(half < 0.01);
    format!("{:+.decimals$} %", (ratio - 1.0) * 100.0)
}

/// A share, such as half an interval over its value: tenths of a percent below all of it.
pub fn percent(share: f64) -> String {
    match share {
        _ if share < 0.0005 => "<0.1 %".to_owned(),
        _ if share < 0.9995 => format!("{:.1} %", share * 100.0),
        _ => format!("{:.0} %", share * 100.0),
    }
}

/// The place, as a power of ten, of the last digit that is shown of a number with this interval.
fn place(value: f64, half: Option<f64>) -> i32 {
    let digits = |magnitude: i32| {
        let told = half.filter(|half| *half > 0.0).map_or(DIGITS.1, |half| magnitude.saturating_sub(power_of_ten(half)) + 1);
        told.clamp(DIGITS.0, DIGITS.1)
    };
    // Rounding may make a digit more of it, as of 9.9996.
    let first = place_of(value, digits(power_of_ten(value)));
    let step = 10_f64.powi(first);
    let magnitude = power_of_ten((value / step).round() * step);
    magnitude - digits(magnitude) + 1
}

/// The place of the last of so many digits; 0 has none that counts.
fn place_of(value: f64, digits: i32) -> i32 {
    power_of_ten(value).saturating_sub(digits - 1)
}

fn ratio_place(value: f64, half: Option<f64>) -> i32 {
    if !(0.9..1.1).contains(&value) {
        return place(value, half);
    }
    half.filter(|half| *half > 0.0).map_or(-DIGITS.1, |half| power_of_ten(half).clamp(-DIGITS.1, -1))
}

fn at_place(value: f64, place: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = power_of_ten(value);
    if value.abs() >= LARGE || value.abs() < SMALL {
        let digits = usize::try_from(magnitude.saturating_sub(place)).unwrap_or(0);
        return format!("{value:.digits$e}");
    }
    match usize::try_from(-place) {
        Ok(decimals) => format!("{value:.decimals$}"),
        Err(_) => {
            let step = 10_f64.powi(place);
            format!("{:.0}", (value / step).round() * step)
        }
    }
}

/// A time by the unit in which it is from 1 to 1000, as this shows it.
fn in_unit(ns: f64, shown: impl Fn(f64) -> String) -> String {
    let (usual, last) = (1, TIMES.len() - 1);
    let fitting = TIMES[..last].iter().position(|(size, _)| ns.abs() < size * 1e3).unwrap_or(last);
    let first = if ns == 0.0 { usual } else { fitting };
    let in_place = |place: usize| {
        let (size, unit) = TIMES[place];
        (shown(ns / size), unit)
    };
    let (number, unit) = in_place(first);
    // What rounding makes 1000 of a unit is 1 of the next.
    let is_full = first < last && number.parse::<f64>().is_ok_and(|number| number.abs() >= 1e3);
    let (number, unit) = if is_full { in_place(first + 1) } else { (number, unit) };
    format!("{number} {unit}")
}

#[expect(clippy::cast_possible_truncation, reason = "exponents of doubles are below 400, and what is infinite saturates")]
fn power_of_ten(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// From so many of a unit on, the one a thousand times larger is used.
const SCALED: [(&str, &str, f64); 4] =
    [("GFLOP/s", "TFLOP/s", 1e3), ("Gop/s", "Top/s", 1e3), ("GB/s", "TB/s", 1e4), ("Gitems/s", "Titems/s", 1e4)];

/// A rate in a unit that suits it, with the digits that its interval allows.
pub fn rate(value: f64, half: Option<f64>, unit: &str) -> String {
    match SCALED.iter().find(|(small, _, from)| *small == unit && value >= *from) {
        Some((_, large, _)) => format!("{} {large}", rounded(value / 1e3, half.map(|half| half / 1e3))),
        None => format!("{} {unit}", rounded(value, half)),
    }
}

/// The ends of an interval.
pub type Ends = (f64, f64);

/// Whether so little is known of a figure that people are shown its interval in its place: the second digit of it would mean nothing.
pub fn is_wide(value: f64, (low, high): Ends) -> bool {
    value > 0.0 && high > WIDE * low
}

/// A figure in a unit that suits it, with the digits that its interval allows: `2.713 TB/s`, `391.0 us`, `1.25`, `64 KiB`; else the
/// interval itself: `15 to 103 us`.
pub fn figure(value: f64, ends: Option<Ends>, unit: &str) -> String {
    if let Some((low, high)) = ends.filter(|ends| is_wide(value, *ends)) {
        return range(low, high, unit);
    }
    let half = ends.map(|(low, high)| (high - low) / 2.0);
    match unit {
        "ns" => time(value, half),
        "" => rounded(value, half),
        "ratio" => ratio(value, half),
        "B" => {
            let (of, unit) = binary(value);
            format!("{} {unit}", rounded(value / of, half.map(|half| half / of)))
        }
        unit => rate(value, half, unit),
    }
}

/// A figure, and half its interval over it: `391.0 us ± 0.3 %`; or its interval alone, where that is wide.
pub fn figure_and_noise(value: f64, ends: Option<Ends>, unit: &str) -> String {
    let words = figure(value, ends, unit);
    match ends.filter(|(low, high)| high > low && value != 0.0 && !is_wide(value, (*low, *high))) {
        Some((low, high)) => format!("{words} ± {}", percent(((high - low) / 2.0 / value).abs())),
        None => words,
    }
}

/// Both ends in the unit that suits the larger one that is known, with two or three digits.
fn range(low: f64, high: f64, unit: &str) -> String {
    let largest = if high.is_finite() { high } else { low };
    let scaled = SCALED.iter().find(|(small, _, from)| *small == unit && largest >= *from);
    let (of, unit) = match (unit, scaled) {
        ("ns", _) => TIMES.into_iter().find(|(size, _)| largest < size * 999.5).unwrap_or(TIMES[TIMES.len() - 1]),
        ("B", _) => binary(largest),
        ("ratio", _) => (1.0, ""),
        (_, Some((_, unit, _))) => (1e3, *unit),
        (unit, None) => (1.0, unit),
    };
    let shown = |end: f64| at_place(end / of, place_of(end / of, if end < 100.0 * of { 2 } else { 3 }));
    let words = match (low > 0.0, high.is_finite()) {
        (true, true) => format!("{} to {} {unit}", shown(low), shown(high)),
        (true, false) => format!("at least {} {unit}", shown(low)),
        (false, true) => format!("up to {} {unit}", shown(high)),
        (false, false) => "unknown".to_owned(),
    };
    words.trim_end().to_owned()
}

/// The binary unit that suits so many bytes, and how many it has.
fn binary(bytes: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 3] = [(1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    UNITS.into_iter().find(|(of, _)| bytes >= *of).unwrap_or(UNITS[2])
}

/// The unit in which figures up to this one are told on an axis, and how many of the small one it is.
pub fn scaled(unit: &str, largest: f64) -> (f64, &str) {
    // From ten of a unit on, so that its ticks are mostly whole.
    const FROM: [(&str, f64, f64); 4] = [("s", 1e10, 1e9), ("ms", 1e7, 1e6), ("us", 1e4, 1e3), ("ns", 1.0, 1.0)];
    match unit {
        "ns" => FROM.iter().find(|(_, from, _)| largest >= *from).map_or((1e-3, "ps"), |(unit, _, of)| (*of, *unit)),
        _ => {
            let of = SCALED.iter().find(|(small, _, _)| *small == unit && largest >= 1e4);
            of.map_or((1.0, unit), |(_, large, _)| (1e3, *large))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickScale {
    /// Bits of a timestamp that count (`timestampValidBits`); the others are masked.
    pub valid_bits: u32,
    /// Nanoseconds per tick (`timestampPeriod`); a fraction on many devices.
    #[serde(with = "crate::model::real")]
    pub period: f64,
}

impl TickScale {
    /// The time from `start` to `end`, across at most one wrap of the valid bits.
    pub fn between(self, start: Ticks, end: Ticks) -> Nanos {
        self.nanos(self.ticks(start, end))
    }

    /// The ticks from `start` to `end`, across at most one wrap of the valid bits.
    pub fn ticks(self, start: Ticks, end: Ticks) -> u64 {
        let mask = if self.valid_bits >= 64 { u64::MAX } else { (1 << self.valid_bits) - 1 };
        end.0.wrapping_sub(start.0) & mask
    }

    /// The time after which the valid bits wrap: no longer interval can be told.
    pub fn wrap(self) -> Nanos {
        Nanos(f64::from(self.valid_bits.min(64)).exp2() * self.period)
    }

    #[expect(clippy::cast_precision_loss, reason = "an interval under 2^53 ticks is exact")]
    pub fn nanos(self, ticks: u64) -> Nanos {
        Nanos(ticks as f64 * self.period)
    }
}

/// A share as people type it, below all: `1%` or `0.01`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = parse_any_share(text).filter(|share| *share < 1.0);
    share.ok_or_else(|| "a share between 0 and 1 is needed, such as 1% or 0.01".to_owned())
}

/// The same, which may be more than all: `150%`.
pub fn parse_any_share(text: &str) -> Option<f64> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim(), 0.01));
    number.parse::<f64>().ok().map(|number| number * unit).filter(|share| *share > 0.0 && share.is_finite())
}

/// A whole number as users write it: `4096`, `0x1000`, `2^12`, `4Ki`, `1Mi`, `1Gi`.
///
/// ```
/// use lanescope_catalogue::units::parse_number;
///
/// assert_eq!(parse_number("4Ki"), parse_number("2^12"));
/// assert_eq!(parse_number("0x1000"), parse_number("2^12"));
/// assert_eq!(parse_number("4.0"), None);
/// ```
pub fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some((base, exponent)) = text.split_once('^') {
        return plain(base)?.checked_pow(u32::try_from(plain(exponent)?).ok()?);
    }
    for (suffix, unit) in [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1_u64 << 30)] {
        if let Some(count) = text.strip_suffix(suffix) {
            return plain(count)?.checked_mul(unit);
        }
    }
    plain(text)
}

/// Digits only: the standard parser would also take a sign.
fn plain(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    }
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_ratio() {
        assert_eq!(parse_share("5%"), Ok(0.05));
        assert_eq!(parse_share("0.01"), Ok(0.01));
        for wrong in ["1", "0", "-1%", "200%", "x", "", "nan"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ticks_are_masked_and_unwrapped() {
        let scale = TickScale { valid_bits: 16, period: 2.5 };
        assert_eq!(scale.between(Ticks(0xFFF0), Ticks(0xABCD_0010)), Nanos(80.0));
        let full = TickScale { valid_bits: 64, period: 1.0 };
        assert_eq!(full.between(Ticks(u64::MAX), Ticks(1)), Nanos(2.0));
        assert_eq!(scale.wrap(), Nanos(65_536.0 * 2.5));
    }

    #[test]
    fn quantities_print_for_people() {
        assert_eq!(Nanos(1234.0).to_string(), "1.23 us");
        assert_eq!(Nanos(45.6e6).to_string(), "45.6 ms");
        assert_eq!(Bytes(48 << 10).to_string(), "48 KiB");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
    }

    #[test]
    fn a_number_has_the_digits_that_its_interval_allows() {
        let cases = [
            (66_446.0, Some(40.0), "66450"),
            (66_446.0, Some(3000.0), "66000"),
            (3089.3, None, "3089"),
            (3089.3, Some(0.001), "3089"),
            (1.389, Some(0.06), "1.39"),
            (1.389, Some(5.0), "1.4"),
            (0.012_345, Some(0.000_2), "0.0123"),
            (0.0, None, "0"),
            (12.0, Some(0.0), "12.00"),
        ];
        for (value, half, text) in cases {
            assert_eq!(rounded(value, half), text, "{value} {half:?}");
        }
        assert_eq!((rounded(212_992.0, None), rounded(32.0, None)), ("212992".to_owned(), "32".to_owned()), "counts are whole");
        assert_eq!((rounded(9.9996, None), rounded(999_960.0, Some(1e3))), ("10.00".to_owned(), "1000000".to_owned()));
        assert_eq!((rounded(1.234e-9, None), rounded(1.5e20, Some(1e19))), ("1.234e-9".to_owned(), "1.5e20".to_owned()));
        assert_eq!((rounded(5.0, Some(f64::INFINITY)), rounded(f64::NAN, None)), ("5.0".to_owned(), "NaN".to_owned()));
        assert_eq!(rate(66_446.0, Some(40.0), "GFLOP/s"), "66.45 TFLOP/s");
        assert_eq!(rate(3089.3, Some(1.0), "GB/s"), "3089 GB/s");
        assert_eq!(rate(33_157.0, Some(30.0), "GB/s"), "33.16 TB/s");
        assert_eq!(rate(12.5, None, "M/s"), "12.50 M/s");
    }

    #[test]
    fn a_time_has_the_digits_that_its_interval_allows() {
        let cases = [
            (391_020.0, Some(391.0), "391.0 us"),
            (391_020.0, Some(78_204.0), "390 us"),
            (391_020.0, None, "391 us"),
            (2_718_281.0, Some(50_000.0), "2.72 ms"),
            (999_996.0, Some(10.0), "1.000 ms"),
            (999_996.0, Some(40_000.0), "1.00 ms"),
            (999.4e9, None, "999 s"),
            (3.6e13, Some(1e12), "36000 s"),
            (0.004_32, Some(0.01), "4.3 ps"),
            (-0.31, Some(0.02), "-310 ps"),
            (0.0, Some(1.0), "0 ns"),
            (f64::INFINITY, None, "inf s"),
        ];
        for (ns, half, text) in cases {
            assert_eq!(time(ns, half), text, "{ns} {half:?}");
        }
    }

    #[test]
    fn a_figure_of_which_little_is_known_is_its_interval() {
        let cases = [
            (31_600.0, (15_000.0, 103_000.0), "ns", "15 to 103 us"),
            (950.0, (900.0, 1_100.0), "ns", "950 ns"),
            (950.0, (900.0, 1_200.0), "ns", "0.90 to 1.2 us"),
            (90.0, (-207.0, 387.0), "ns", "up to 387 ns"),
            (-5.0, (-9.0, 2.0), "ns", "-5.0 ns"),
            (999.0, (500.0, 999.7), "ns", "0.50 to 1.00 us"),
            (3_000.0, (1_545.0, 4_634.0), "GB/s", "1550 to 4630 GB/s"),
            (29_000.0, (20_000.0, 40_000.0), "GB/s", "20 to 40 TB/s"),
            (50.0, (25.0, f64::INFINITY), "GB/s", "at least 25 GB/s"),
            (143_960.0, (65_536.0, 262_144.0), "B", "64 to 256 KiB"),
            (143_960.0, (143_000.0, 145_000.0), "B", "140.6 KiB"),
            (0.99, (0.876, 1.104), "ratio", "0.88 to 1.1"),
        ];
        for (value, ends, unit, text) in cases {
            assert_eq!(figure(value, Some(ends), unit), text);
        }
        assert_eq!(figure_and_noise(100.0, Some((99.0, 101.0)), "ns"), "100 ns ± 1.0 %");
        assert_eq!(figure_and_noise(100.0, Some((50.0, 150.0)), "ns"), "50 to 150 ns");
    }

    #[test]
    fn a_ratio_is_read_by_how_far_it_is_from_one() {
        let cases = [
            (1.0, None, "1.0000"),
            (0.9997, None, "0.9997"),
            (1.000_21, None, "1.0002"),
            (1.000_21, Some(0.003), "1.000"),
            (0.9903, Some(0.11), "1.0"),
            (33.917, Some(0.02), "33.92"),
            (0.0281, Some(0.002), "0.028"),
        ];
        for (value, half, text) in cases {
            assert_eq!(ratio(value, half), text, "{value} {half:?}");
        }
        let between = |value, low, high| ratio_between(Ratio { value, low, high });
        assert_eq!(between(2.0197, 2.0142, 2.0231), "2.020 [2.014, 2.023]");
        assert_eq!(between(0.9997, 0.9961, 1.003), "1.000 [0.996, 1.003]");
        assert_eq!(between(1.5, 0.0, f64::INFINITY), "1.5 [0, inf]");
        assert_eq!((percent_off(1.1342, 0.002), percent_off(1.1342, 0.02)), ("+13.4 %".to_owned(), "+13 %".to_owned()));
    }

    #[test]
    fn a_share_is_told_in_tenths_of_a_percent() {
        let cases = [(0.0, "<0.1 %"), (0.000_01, "<0.1 %"), (0.0123, "1.2 %"), (0.9996, "100 %"), (3.3, "330 %")];
        for (share, text) in cases {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    mod any {
        use proptest::prelude::{any, prop_assert, proptest};

        use super::super::*;

        proptest! {
            #![proptest_config(crate::properties::config())]

            /// What is shown is the number, to the place that its interval allows, in a handful of characters.
            #[test]
            fn number_is_shown_as_near_as_its_interval(value in -1e14..1e14_f64, share in 1e-9..10.0_f64) {
                let half = value.abs() * share;
                let shown: f64 = rounded(value, Some(half)).parse().unwrap();
                prop_assert!((shown - value).abs() <= half.max(value.abs() * 5e-4) || share > 0.05, "{value} {half} {shown}");
                prop_assert!((shown - value).abs() <= value.abs() * 0.06, "{value} {half} {shown}");
            }

            #[test]
            fn figure_has_no_end_of_digits(value in any::<f64>(), half in proptest::option::of(any::<f64>())) {
                for text in [rounded(value, half), time(value, half), ratio(value, half), rate(value, half, "GB/s")] {
                    prop_assert!(text.chars().count() <= 25, "{text}");
                }
            }
        }
    }
}
