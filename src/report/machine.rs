//! What `lanescope doctor --json` found of the machine.

use serde::Deserialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Examined {
    /// What is wrong, the worst first.
    pub findings: Vec<Wrong>,
    pub facts: Vec<Fact>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Wrong {
    pub name: String,
    pub what: String,
    pub evidence: String,
    pub advice: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Fact {
    pub about: String,
    pub is: String,
}
