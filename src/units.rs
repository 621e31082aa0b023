//! Units as types: raw device ticks can't pass for nanoseconds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A raw timestamp value, as the device wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Nanos(#[serde(with = "crate::model::real")] pub f64);

/// A number of bytes, printed in binary units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Nanos {
    /// From the standard library's duration.
    pub fn from_duration(duration: std::time::Duration) -> Self {
        Self(duration.as_secs_f64() * 1e9)
    }

    /// As the standard library's duration; what can't be one is none.
    pub fn to_duration(self) -> std::time::Duration {
        std::time::Duration::try_from_secs_f64(self.seconds()).unwrap_or_default()
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 * 1e-9
    }
}

/// Three significant digits with the fitting unit, for people: `12.3 us`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0.abs() {
            ns if ns < 1e3 => (self.0, "ns"),
            ns if ns < 1e6 => (self.0 / 1e3, "us"),
            ns if ns < 1e9 => (self.0 / 1e6, "ms"),
            _ => (self.0 / 1e9, "s"),
        };
        let digits = if value.abs() < 10.0 { 2 } else { usize::from(value.abs() < 100.0) };
        write!(f, "{value:.digits$} {unit}")
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

/// The most significant digits that people are shown, and the fewest.
const DIGITS: (i32, i32) = (2, 4);

/// A number with the digits that its interval allows, of which this is half: two to four. Without an interval, four.
pub fn rounded(value: f64, half: Option<f64>) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = power_of_ten(value);
    let digits = half.filter(|half| *half > 0.0).map_or(DIGITS.1, |half| magnitude - power_of_ten(half) + 1);
    let decimals = digits.clamp(DIGITS.0, DIGITS.1) - 1 - magnitude;
    let step = 10_f64.powi(-decimals);
    let decimals = usize::try_from(decimals).unwrap_or(0);
    format!("{:.decimals$}", (value / step).round() * step)
}

/// The exponent of its first digit.
#[expect(clippy::cast_possible_truncation, reason = "exponents of doubles are below 400")]
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

/// Converts raw timestamps of one queue to durations.
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

    /// The time that a number of ticks takes.
    #[expect(clippy::cast_precision_loss, reason = "an interval under 2^53 ticks is exact")]
    pub fn nanos(self, ticks: u64) -> Nanos {
        Nanos(ticks as f64 * self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(rate(66_446.0, Some(40.0), "GFLOP/s"), "66.45 TFLOP/s");
        assert_eq!(rate(3089.3, Some(1.0), "GB/s"), "3089 GB/s");
        assert_eq!(rate(33_157.0, Some(30.0), "GB/s"), "33.16 TB/s");
        assert_eq!(rate(12.5, None, "M/s"), "12.50 M/s");
    }
}
