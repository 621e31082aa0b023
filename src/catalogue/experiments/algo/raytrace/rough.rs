//! Numbers of which it is known how far `f32` may be from them.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// What a single operation may be off by, relative to its result: a whole unit in the last place, since Vulkan leaves to devices
/// which way they round. Where two are fused, one of them is right.
const UNIT: f64 = f32::EPSILON as f64;

/// A number, and how far from it a device's may be that computes the same in `f32`: each operation adds what it may round by to what
/// its operands are off by (running error analysis: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section
/// 3.3). What is off by infinity is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rough {
    pub(super) value: f64,
    pub(super) error: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
    /// It may come out either way.
    Unknown,
}

impl Known {
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            (Self::Unknown, Self::Yes | Self::Unknown) | (Self::Yes, Self::Unknown) => Self::Unknown,
        }
    }
}

impl Rough {
    pub(super) fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// The same where the last operation is off by so many units as well.
    fn rounded(value: f64, error: f64, units: f64) -> Self {
        let error = error + units * UNIT * (value.abs() + error);
        if error.is_nan() { Self { value: 0.0, error: f64::INFINITY } } else { Self { value, error } }
    }

    pub(super) fn is_positive(self) -> Known {
        match () {
            () if self.value > self.error => Known::Yes,
            () if self.value < -self.error => Known::No,
            () => Known::Unknown,
        }
    }

    /// Right within 5 units: Vulkan makes it of a reciprocal root (2 ULP) and a division (2.5 ULP).
    pub(super) fn sqrt(self) -> Self {
        let value = self.value.max(0.0).sqrt();
        // Near zero, the root of what it may be off by.
        let error = if self.value > self.error { self.error / value } else { (self.value.max(0.0) + self.error).sqrt() };
        Self::rounded(value, error, 5.0)
    }
}

impl Neg for Rough {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl Add for Rough {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.error + other.error, 1.0)
    }
}

impl Sub for Rough {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Rough {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let error = self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        Self::rounded(self.value * other.value, error, 1.0)
    }
}

/// Right within 2.5 units.
impl Div for Rough {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let least = other.value.abs() - other.error;
        let error = if least > 0.0 { (self.error + value.abs() * other.error) / least } else { f64::INFINITY };
        Self::rounded(value, error, 2.5)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vector(pub(super) [Rough; 3]);

impl Vector {
    pub(super) fn exact(values: [f64; 3]) -> Self {
        Self(values.map(Rough::exact))
    }

    pub(super) fn values(self) -> [f64; 3] {
        self.0.map(|part| part.value)
    }

    pub(super) fn dot(self, other: Self) -> Rough {
        let [x, y, z] = [0, 1, 2].map(|i| self.0[i] * other.0[i]);
        x + y + z
    }

    pub(super) fn cross(self, other: Self) -> Self {
        let (Self([a, b, c]), Self([x, y, z])) = (self, other);
        Self([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    pub(super) fn times(self, factor: Rough) -> Self {
        Self(self.0.map(|part| part * factor))
    }
}

impl Add for Vector {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self([0, 1, 2].map(|i| self.0[i] + other.0[i]))
    }
}

impl Sub for Vector {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self([0, 1, 2].map(|i| self.0[i] - other.0[i]))
    }
}

impl Neg for Vector {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.map(Neg::neg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_is_as_near_as_told() {
        let number = |i: u32| f64::from(i.wrapping_mul(0x9E37_79B1) >> 8) / 65_536.0 - 100.0;
        #[expect(clippy::cast_possible_truncation, reason = "what a device computes with")]
        for i in (0..4000).step_by(4) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| number(i + k) as f32);
            let [x, y, z, w] = [a, b, c, d].map(|value| Rough::exact(value.into()));
            let found = [(a * b - c * d) / (a + d), (a * a + b * b - c).sqrt(), (a - b) * (c + d)];
            let rough = [(x * y - z * w) / (x + w), (x * x + y * y - z).sqrt(), (x - y) * (z + w)];
            for (found, rough) in found.into_iter().zip(rough) {
                let is_near = (f64::from(found) - rough.value).abs() <= rough.error;
                assert!(is_near || rough.error.is_infinite(), "{found} {rough:?}");
            }
        }
    }

    #[test]
    fn what_rounding_decides_is_unknown() {
        let known = |value, error| Rough { value, error }.is_positive();
        assert_eq!([known(1.0, 0.5), known(-1.0, 0.5), known(0.25, 0.5)], [Known::Yes, Known::No, Known::Unknown]);
        let (one, zero) = (Rough::exact(1.0), Rough::exact(0.0));
        assert_eq!((one / zero).is_positive(), Known::Unknown);
        assert_eq!((zero / zero).is_positive(), Known::Unknown);
        let all = [Known::Yes, Known::No, Known::Unknown];
        assert_eq!(all.map(|one| one.and(Known::Yes)), all);
        assert_eq!(all.map(|one| one.and(Known::No)), [Known::No; 3]);
    }
}
