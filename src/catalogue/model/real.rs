//! Floating-point numbers between processes: every value arrives as the one that was sent, also those that JSON has no number for.

use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that is written as a number where it is finite, else as a word.
#[derive(Clone, Copy, Debug)]
pub struct Real(f64);

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f64(self.0) } else { serializer.collect_str(&self.0) }
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = Real;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, or one of the words inf, -inf and NaN")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Real, E> {
        Ok(Real(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number that was a real one before it was written has no more digits")]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Real, E> {
        Ok(Real(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "as above")]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Real, E> {
        Ok(Real(value as f64))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Real, E> {
        word.parse().map(Real).map_err(|_| E::custom(format!("`{word}` is no number")))
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

/// What is made of numbers, and the form in which it is sent.
pub trait Reals: Sized {
    type Sent: Serialize + DeserializeOwned;

    fn sent(&self) -> Self::Sent;
    fn arrived(sent: Self::Sent) -> Self;
}

impl Reals for f64 {
    type Sent = Real;

    fn sent(&self) -> Real {
        Real(*self)
    }

    fn arrived(Real(value): Real) -> Self {
        value
    }
}

impl<T: Reals> Reals for Vec<T> {
    type Sent = Vec<T::Sent>;

    fn sent(&self) -> Self::Sent {
        self.iter().map(T::sent).collect()
    }

    fn arrived(sent: Self::Sent) -> Self {
        sent.into_iter().map(T::arrived).collect()
    }
}

pub fn serialize<T: Reals, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.sent().serialize(serializer)
}

pub fn deserialize<'de, T: Reals, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Sent::deserialize(deserializer).map(T::arrived)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn every_number_arrives(value in any::<f64>()) {
            let sent = serde_json::to_string(&Real(value)).unwrap();
            let Real(arrived) = serde_json::from_str(&sent).unwrap();
            prop_assert!(arrived.to_bits() == value.to_bits() || (arrived.is_nan() && value.is_nan()), "{}", sent);
        }
    }

    #[test]
    fn those_that_are_not_finite_are_words() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.0] {
            let sent = serde_json::to_string(&Real(value)).unwrap();
            let Real(arrived) = serde_json::from_str(&sent).unwrap();
            assert_eq!(arrived.total_cmp(&value), std::cmp::Ordering::Equal, "{sent}");
        }
        assert!(serde_json::from_str::<Real>("\"much\"").is_err());
    }
}
