//! The core's clock around a visit.

use serde::{Deserialize, Serialize};

use super::real;

/// A visit whose two readings are further apart had a step of the clock within it. Levels of an H100 are 0.25 to 0.75 % apart; where they
/// are nearer, the mean of both readings is within 0.15 %.
const STEP: f64 = 0.003;

/// The clock before and after a visit, in MHz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreClocks {
    #[serde(with = "real")]
    pub before: f64,
    #[serde(with = "real")]
    pub after: f64,
}

impl CoreClocks {
    pub fn mean(self) -> f64 {
        f64::midpoint(self.before, self.after)
    }

    pub fn has_stepped(self) -> bool {
        (self.after / self.before - 1.0).abs() > STEP
    }
}
