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
}
