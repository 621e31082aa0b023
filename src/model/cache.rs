//! What the caches hold when a sample begins.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// What the passes before left there.
    #[default]
    Warm,
    /// Nothing of the case: they were evicted before the sample, which is of one pass. Compares only with warm rows of batch 1.
    Cold,
}

impl Cache {
    /// As written in a row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}
