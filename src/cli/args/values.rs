//! Values of flags.

use std::time::Duration;

use clap::ValueEnum;

use crate::model::SpirvTarget;
use crate::plan::parse_number;

/// What GLSL is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetEnv {
    /// SPIR-V 1.3
    #[value(name = "vulkan1.1")]
    Vulkan1_1,
    /// SPIR-V 1.5
    #[value(name = "vulkan1.2")]
    Vulkan1_2,
    /// SPIR-V 1.6
    #[value(name = "vulkan1.3")]
    Vulkan1_3,
}

impl TargetEnv {
    /// As the compiler calls it.
    pub fn target(self) -> SpirvTarget {
        match self {
            Self::Vulkan1_1 => SpirvTarget::Vulkan1_1,
            Self::Vulkan1_2 => SpirvTarget::Vulkan1_2,
            Self::Vulkan1_3 => SpirvTarget::Vulkan1_3,
        }
    }
}

/// A share: `1%` or `0.01`.
///
/// # Errors
/// What is none between 0 and 1.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim(), 0.01));
    let share = number.parse::<f64>().map(|number| number * unit).ok();
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "a share between 0 and 1 is needed, such as 1% or 0.01".to_owned())
}

/// A number of bytes that a buffer may have.
///
/// # Errors
/// What is no number, or below 4.
pub fn bytes(text: &str) -> Result<u64, String> {
    parse_number(text)
        .filter(|bytes| *bytes >= 4)
        .ok_or_else(|| "a number of bytes from 4 is needed, such as 2^26 or 64Mi".to_owned())
}

/// A time: `500ms`.
///
/// # Errors
/// What is none, or 0.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| format!("{error}; try 500ms or 2s"))?;
    if duration.is_zero() { Err("it must be longer than 0".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_ratio() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.01"), Ok(0.01));
        for wrong in ["1", "0", "-1%", "200%", "x", "", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
