//! How a case can end, and what can be said against a measured row.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured, and where something can be checked, right.
    Ok,
    /// The device can't run it: the reason names the limit or the feature.
    Skipped,
    /// A dry run: it would be measured.
    Planned,
    /// It ran and gave a wrong result; no speed is published.
    WrongResult,
    /// It did not end in time.
    Timeout,
    /// The driver took the process down.
    Crashed,
    /// The driver reported the device lost.
    DeviceLost,
    OutOfMemory,
    /// The shader did not compile.
    CompileError,
    Error,
    /// It was never tried: the device couldn't be opened, or had failed too often before.
    NotRun,
}

impl Status {
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Skipped,
        Self::Planned,
        Self::WrongResult,
        Self::Timeout,
        Self::Crashed,
        Self::DeviceLost,
        Self::OutOfMemory,
        Self::CompileError,
        Self::Error,
        Self::NotRun,
    ];

    /// The status that a row's text stands for.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// As written in a row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Planned => "planned",
            Self::WrongResult => "wrong_result",
            Self::Timeout => "timeout",
            Self::Crashed => "crashed",
            Self::DeviceLost => "device_lost",
            Self::OutOfMemory => "out_of_memory",
            Self::CompileError => "compile_error",
            Self::Error => "error",
            Self::NotRun => "not_run",
        }
    }

    /// Whether a run with such a row has failed (exit code 1).
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Skipped | Self::Planned)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What was under way when something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Telling from limits and features whether the device can run the case.
    Planning,
    /// Opening and calibrating the device.
    Opening,
    /// Running the reference that a search compares results with.
    Reference,
    Compiling,
    /// Making resources and pipelines. Where the process is lost, nobody knows more: anything from compiling to the first comparison.
    Loading,
    /// The first pass, in which some drivers compile.
    FirstDispatch,
    /// Finding out how many passes a sample needs.
    Sizing,
    /// Whatever belongs to rounds of samples.
    Timing,
    Checking,
}

impl Stage {
    pub const COUNT: usize = Self::Checking as usize + 1;

    /// As written in a row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Opening => "opening",
            Self::Reference => "reference",
            Self::Compiling => "compiling",
            Self::Loading => "loading",
            Self::FirstDispatch => "first_dispatch",
            Self::Sizing => "sizing",
            Self::Timing => "timing",
            Self::Checking => "checking",
        }
    }
}

/// How the words begin of what a reference met.
const AT_REFERENCE: &str = "the reference: ";

/// Why a case has no figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// How it ended: one of the failures, or skipped, where only trying showed what the device lacks.
    pub status: Status,
    /// What was under way, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Whether it is the device's, and the case was never tried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_untried: bool,
    /// What happened, and what to try, in words.
    pub reason: String,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, stage: None, is_untried: false, reason: reason.into() }
    }

    /// The same, with what was under way, unless it tells that already.
    #[must_use]
    pub fn at(self, stage: Stage) -> Self {
        Self { stage: self.stage.or(Some(stage)), ..self }
    }

    /// The same for a case that was never tried, since the device failed in this way.
    #[must_use]
    pub fn before_any_case(self) -> Self {
        Self { is_untried: true, ..self }
    }

    /// The reason, and whether it was the reference's.
    pub fn words(&self) -> String {
        let of = if self.stage == Some(Stage::Reference) { AT_REFERENCE } else { "" };
        format!("{of}{}", self.reason)
    }

    /// As rows and messages tell it: of what was never tried, the words say what became of the device.
    pub fn told(&self) -> (Status, String) {
        if self.is_untried {
            (Status::NotRun, format!("{}: {}", self.status, self.words()))
        } else {
            (self.status, self.words())
        }
    }
}

/// A reason to doubt a measured row; the column `quality_flags` joins them by `;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// A sample is shorter than 20 timer floors.
    NearFloor,
    /// A pass takes less than 20 empty passes: the launch is a visible part of it.
    LaunchBound,
    /// The precision asked for was not reached.
    Noisy,
    /// The device's clock was more than 2 % off what it was at the start, by the sentinel's time beside the case's visits.
    Drift,
    /// In more than a quarter of the visits clocks were below 97 % of what they were at the start, and visiting again didn't help.
    Throttled,
    /// Memory's speed was more than 5 % off what it was at the start, beside the middle one of the visits; or it was so much slower in
    /// more than a quarter of them, and visiting again didn't help.
    MemorySpeed,
    /// In more than a quarter of the visits other processes took more than a tenth of the processor time, and visiting again
    /// didn't help.
    Contended,
    /// The shader indexes beyond its buffers: what it computes, and how fast, is by chance.
    OutOfBounds,
    /// It can't be right: the column `reason` says what is wrong with it.
    Implausible,
}

impl Flag {
    /// Its word in a row. A known driver fault that can show in a case has a word of its own, `quirk:NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NearFloor => "near_floor",
            Self::LaunchBound => "launch_bound",
            Self::Noisy => "noisy",
            Self::Drift => "drift",
            Self::Throttled => "throttled",
            Self::MemorySpeed => "memory_speed",
            Self::Contended => "contended",
            Self::OutOfBounds => "out_of_bounds",
            Self::Implausible => "implausible",
        }
    }
}

/// As written in a row.
impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
