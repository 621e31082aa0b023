//! The values of a configuration.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One value of an axis. An axis holds values of one variant only, everywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// A whole number: a size, a count, a stride.
    Integer(u64),
    /// One of a fixed set of words: an operation, a pattern.
    Choice(Cow<'static, str>),
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Choice(word) => f.write_str(word),
        }
    }
}

impl From<u64> for AxisValue {
    fn from(n: u64) -> Self {
        Self::Integer(n)
    }
}

impl From<u32> for AxisValue {
    fn from(n: u32) -> Self {
        Self::Integer(n.into())
    }
}

impl From<&'static str> for AxisValue {
    fn from(word: &'static str) -> Self {
        Self::Choice(Cow::Borrowed(word))
    }
}
