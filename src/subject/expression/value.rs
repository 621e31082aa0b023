//! The values of expressions.

use std::fmt;

/// Up to here every whole number is a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Integer(i128),
    Real(f64),
    Truth(bool),
    Word(String),
}

impl Value {
    #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
    pub fn as_real(&self) -> Option<f64> {
        match self {
            Self::Integer(n) => Some(*n as f64),
            Self::Real(x) => Some(*x),
            Self::Truth(_) | Self::Word(_) => None,
        }
    }

    /// The number, where it is whole, not negative and below 2^64.
    pub fn as_count(&self) -> Option<u64> {
        self.as_whole().and_then(|n| u64::try_from(n).ok())
    }

    /// The whole number, where it is one. A float is one as long as its neighbours are.
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    pub(super) fn as_whole(&self) -> Option<i128> {
        match self {
            Self::Integer(n) => Some(*n),
            Self::Real(x) if x.fract() == 0.0 && x.abs() <= EXACT => Some(*x as i128),
            _ => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) | Self::Real(_) => "a number",
            Self::Truth(_) => "true or false",
            Self::Word(_) => "a word",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Real(x) => write!(f, "{x}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Word(word) => write!(f, "\"{word}\""),
        }
    }
}
