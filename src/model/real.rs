//! Floating-point numbers between processes: every value arrives as the one that was sent, also those that JSON has no number for.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that is written as a number where it is finite, else as a word.
#[derive(Clone, Copy, Debug)]
struct Real(f64);

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

/// Writes one number.
///
/// # Errors
/// As the serializer.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Real(*value).serialize(serializer)
}

/// Reads one number.
///
/// # Errors
/// Where there is none.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Real::deserialize(deserializer)?.0)
}

pub mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Real;

    /// Writes a list.
    ///
    /// # Errors
    /// As the serializer.
    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| Real(*value)))
    }

    /// Reads a list.
    ///
    /// # Errors
    /// Where there is none.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Real>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|Real(value)| value).collect())
    }
}

/// Lists of lists of numbers.
pub mod lists {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct List(#[serde(with = "super::list")] Vec<f64>);

    /// Writes them.
    ///
    /// # Errors
    /// As the serializer.
    pub fn serialize<S: Serializer>(lists: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(lists.iter().map(|list| List(list.clone())))
    }

    /// Reads them.
    ///
    /// # Errors
    /// Where there are none.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
        let lists = Vec::<List>::deserialize(deserializer)?;
        Ok(lists.into_iter().map(|List(list)| list).collect())
    }
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
