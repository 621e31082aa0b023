//! What a driver's compiler tells about a pipeline: its static estimates, which no run has confirmed.

use serde::{Deserialize, Serialize};

/// How much of what a driver's compiler tells is asked for. More takes longer, since drivers bypass their caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PipelineDetail {
    #[default]
    None,
    Statistics,
    /// Statistics, and the code itself in every form that the driver shows.
    Code,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PipelineStatistics {
    /// What the driver made of it. A compute pipeline is one executable on most drivers.
    pub executables: Vec<Executable>,
}

/// A piece of machine code (`VkPipelineExecutablePropertiesKHR`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Executable {
    pub name: String,
    /// The subgroup size that it is dispatched with, in invocations; 0 where the driver doesn't say.
    pub subgroup_size: u32,
    /// What the driver tells, by the driver's own names and in its order.
    pub statistics: Vec<(String, StatValue)>,
    /// The code, in the forms that the driver shows, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub representations: Vec<Representation>,
}

/// A form of an executable's code (`VkPipelineExecutableInternalRepresentationKHR`): machine code, or a stage of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Representation {
    pub name: String,
    /// What it is, in the driver's words.
    pub description: String,
    /// Itself. Of what the driver doesn't call a text, its bytes in hexadecimal digits, 32 a line.
    pub text: String,
}

impl Executable {
    pub fn get(&self, name: &str) -> Option<StatValue> {
        self.statistics.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// The value of a statistic (`VkPipelineExecutableStatisticValueKHR`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StatValue {
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Real(f64),
}

impl StatValue {
    /// The value of a count; `None` for what isn't one.
    pub fn count(self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(value),
            Self::Signed(value) => u64::try_from(value).ok(),
            Self::Boolean(_) | Self::Real(_) => None,
        }
    }
}
