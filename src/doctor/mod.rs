//! Whether a machine is fit to be measured on, and what is wrong with it: `doctor`.
//!
//! ```text
//! loaded    the loader, drivers and layers that processes here load, asked in worker processes
//! machine   what the system tells: processors, GPUs on the bus, kernel, container or virtual machine, packages
//! checks    which cases of the catalogue are measured, and what for
//! measured  the device, tried: its clocks under load, the cases in two processes
//! judged    what follows from that
//! private   what a report must not tell
//! text      findings and facts as a screen of text that can be pasted into an issue
//! ```
//!
//! Facts are gathered first. Findings follow from facts by pure functions, so that each can be provoked by a test.

pub mod checks;
pub mod judged;
pub mod loaded;
pub mod machine;
pub mod measured;
mod private;
mod text;

use serde::Serialize;

use crate::model::DeviceInfo;
use crate::output::in_a_line;

pub use private::Secrets;
pub use text::report_text;

/// What kind of harm a finding does. The worst come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// Nothing can be measured.
    NoDevice,
    /// Results are wrong.
    WrongResults,
    /// Figures aren't of what they seem to be, or not of the device at its usual speed.
    WrongFigures,
    /// A device or a driver is missing that was meant to be there.
    #[default]
    Missing,
}

/// Something that is wrong with the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Which kind of finding: words joined by `-`.
    pub name: &'static str,
    pub harm: Harm,
    /// Which device it is about, by its index and name, where the report is about several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What is wrong, as a sentence.
    pub what: String,
    /// What shows it, as sentences.
    pub evidence: String,
    /// What to do about it, as a sentence.
    pub advice: String,
}

/// A line of facts: what it is about, and what there is to say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// In at most 11 letters.
    pub about: &'static str,
    pub is: String,
}

impl Fact {
    pub fn new(about: &'static str, is: impl Into<String>) -> Self {
        Self { about, is: is.into() }
    }
}

/// What there is to say of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub tool_version: String,
    /// Whether only questions were asked and nothing was measured.
    pub is_quick: bool,
    /// The worst first.
    pub findings: Vec<Finding>,
    pub facts: Vec<Fact>,
    /// What it must not tell.
    #[serde(skip)]
    pub secrets: Secrets,
}

/// What a device and its driver are.
pub fn device_facts(device: &DeviceInfo, kernel_half: Option<&str>) -> Vec<Fact> {
    let DeviceInfo { index, name, kind, driver, .. } = device;
    let half = kernel_half.map(|version| format!("; in the kernel {version}")).unwrap_or_default();
    let mut facts = vec![
        Fact::new("device", format!("{index}: {name} ({})", kind.as_str())),
        Fact::new(
            "served by",
            format!("{} {} ({}), Vulkan {}{half}", driver.name, driver.version, driver.label(), driver.api_version),
        ),
    ];
    facts.extend(device.quirks.iter().map(|quirk| Fact::new("quirk", format!("{}: {}", quirk.name, quirk.what))));
    facts
}

impl Report {
    /// Adds what there is to say. Nothing that a terminal would obey is left of it.
    pub fn add(&mut self, facts: Vec<Fact>, findings: Vec<Finding>) {
        let Self { secrets, .. } = &*self;
        let told = |words: String| in_a_line(&secrets.removed_from(&words));
        let facts: Vec<Fact> = facts.into_iter().map(|fact| Fact { is: told(fact.is), ..fact }).collect();
        let finding = |finding: Finding| Finding {
            what: told(finding.what),
            evidence: told(finding.evidence),
            advice: told(finding.advice),
            ..finding
        };
        let findings: Vec<Finding> = findings.into_iter().map(finding).collect();
        self.facts.extend(facts);
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| finding.harm);
    }
}
