//! How much a run measures.

use serde::{Deserialize, Serialize};

/// How many values the axes have by default, and how long and how precisely each case is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// A cross-section in about a minute: 45 s of timing in all, 5 % of noise allowed.
    Quick,
    /// The whole default sweep: up to 2 s a case, 1 % of noise allowed.
    #[default]
    Default,
    /// The same sweep, more precisely: up to 10 s a case, 0.5 % of noise allowed.
    Thorough,
}
