//! How a case can end, and what can be said against a measured row.

use serde::{Deserialize, Serialize};

words! {
    #[derive(Hash)]
    pub enum Status, as_str {
        /// Measured, and where something can be checked, right.
        Ok = "ok",
        /// The device can't run it: the reason names the limit or the feature.
        Skipped = "skipped",
        /// A dry run: it would be measured.
        Planned = "planned",
        /// It ran and gave a wrong result; no speed is published.
        WrongResult = "wrong_result",
        Timeout = "timeout",
        /// The driver took the process down.
        Crashed = "crashed",
        DeviceLost = "device_lost",
        OutOfMemory = "out_of_memory",
        CompileError = "compile_error",
        Error = "error",
        /// It was never tried: the device couldn't be opened, or had failed too often before.
        NotRun = "not_run",
    }
}

impl Status {
    /// Whether a run with such a row has failed (exit code 1).
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Skipped | Self::Planned)
    }
}

words! {
    /// What was under way when something failed.
    pub enum Stage, as_str {
        /// Telling from limits and features whether the device can run the case.
        Planning = "planning",
        /// Opening and calibrating the device.
        Opening = "opening",
        /// Running the reference that a search compares results with.
        Reference = "reference",
        Compiling = "compiling",
        /// Making resources and pipelines. Where the process is lost, nobody knows more: anything from compiling to the first comparison.
        Loading = "loading",
        /// The first pass, in which some drivers compile.
        FirstDispatch = "first_dispatch",
        /// Finding out how many passes a sample needs.
        Sizing = "sizing",
        /// Whatever belongs to rounds of samples.
        Timing = "timing",
        Checking = "checking",
    }
}

/// How the words begin of what a reference met.
const AT_REFERENCE: &str = "the reference: ";

/// Why a case has no figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// How it ended: one of the failures, or skipped, where only trying showed what the device lacks.
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Whether it is the device's, and the case was never tried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_untried: bool,
    /// What happened, and what to try, in words.
    pub reason: String,
}

impl Failure {
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

words! {
    /// A reason to doubt a measured row; the column `quality_flags` joins them by `;`.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Flag, name {
        /// A sample is shorter than 20 timer floors.
        NearFloor = "near_floor",
        /// A pass takes less than 20 empty passes: the launch is a visible part of it.
        LaunchBound = "launch_bound",
        /// The precision asked for was not reached.
        Noisy = "noisy",
        /// The device's clock was more than 2 % off what it was at the start, by the sentinel's time beside the case's visits.
        Drift = "drift",
        /// In more than a quarter of the visits clocks were below 97 % of what they were at the start, and visiting again didn't help.
        Throttled = "throttled",
        /// Memory's speed was more than 5 % off what it was at the start, beside the middle one of the visits; or it was so much slower in
        /// more than a quarter of them, and visiting again didn't help.
        MemorySpeed = "memory_speed",
        /// In more than a quarter of the visits others took more than a tenth of the processor time, or of the GPU's, and visiting again didn't help.
        Contended = "contended",
        /// The shader indexes beyond its buffers: what it computes, and how fast, is by chance.
        OutOfBounds = "out_of_bounds",
        /// The shader's SPIR-V isn't valid: what a driver makes of it may be anything.
        InvalidSpirv = "invalid_spirv",
        /// It can't be right: the column `reason` says what is wrong with it.
        Implausible = "implausible",
    }
}
