//! What is known of a kernel, and the answer that follows.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::analysis::counted;
use crate::analysis::limits::Limits;
use crate::campaign::trace::{DispatchTrace, Order, Traces};
use crate::cli::trace::text::headline;
use crate::error::EXIT_OK;
use crate::explain::bounds::{self, BoundRow, PassBounds};
use crate::explain::demand::Demand;
use crate::explain::findings::{self, Finding, FindingKind, Proof};
use crate::explain::measured::Taken;
use crate::explain::trials::{Gain, Outcome, Trial, Tried, Verdict};
use crate::model::DeviceInfo;
use crate::trace::requests::Lanes;
use crate::units::percent;

/// What is known of a kernel.
pub struct Explained<'e> {
    pub device: &'e DeviceInfo,
    /// The shader, and the entry point, of its first dispatch.
    pub kernel: &'e str,
    pub entry: &'e str,
    pub heading: String,
    pub bounds: PassBounds,
    pub taken: Taken,
    pub tried: Vec<Tried>,
    pub findings: Vec<Finding>,
    /// Which of them are scaled from a few workgroups.
    pub sample: Option<String>,
    /// What isn't among the bounds.
    pub gaps: Vec<&'static str>,
}

impl<'e> Explained<'e> {
    pub fn new(
        device: &'e DeviceInfo,
        traces: &'e Traces,
        (taken, tried): (Taken, Vec<Tried>),
        order: &Order,
        limits: &Limits,
    ) -> Self {
        let hardware = &order.hardware;
        let lanes = match order.lanes {
            Lanes::OfDevice => device.subgroup.size,
            Lanes::InRow(count) => count,
        };
        let dispatches = &traces.dispatches;
        let demands: Vec<Demand> = dispatches.iter().map(|dispatch| Demand::of(dispatch, hardware)).collect();
        let bounds: Vec<_> = demands.iter().map(|demand| bounds::of_dispatch(demand, limits)).collect();
        let gaps: BTreeSet<&str> = demands.iter().flat_map(|demand| &demand.gaps).copied().collect();
        let first = dispatches.first();
        let of_several = match dispatches.len() {
            0 | 1 => String::new(),
            count => format!(", the first of {count} dispatches"),
        };
        let mut new = Self {
            device,
            kernel: first.map_or("", |dispatch| &dispatch.what.source),
            entry: first.map_or("", |dispatch| &dispatch.what.entry),
            heading: first.map_or_else(String::new, |dispatch| headline(dispatch, device) + &of_several),
            bounds: PassBounds::of(&bounds),
            findings: Vec::new(),
            taken,
            tried,
            sample: first.and_then(sample),
            gaps: gaps.into_iter().collect(),
        };
        let found =
            |first| findings::find(first, hardware, [lanes, device.subgroup.size], &new.tried, &new.taken, new.attained());
        new.findings = first.map_or_else(Vec::new, found);
        new
    }

    /// The share of its least time in what the kernel takes; nothing where no row bounds it.
    pub fn attained(&self) -> Option<f64> {
        let is_told = self.bounds.binding.is_some() && !self.device.is_cpu();
        is_told.then(|| self.bounds.least_ns / self.taken.ns)
    }

    pub fn answer(&self) -> Answer<'_> {
        Answer {
            kernel: self.kernel,
            entry: self.entry,
            device: &self.device.name,
            driver: self.device.driver.label(),
            time_ns: self.taken.ns,
            time_ci_ns: self.taken.ends,
            quality_flags: &self.taken.flags,
            least_ns: self.attained().map(|_| self.bounds.least_ns),
            attained: self.attained(),
            attained_ci: self
                .attained()
                .and(self.taken.ends)
                .map(|(low, high)| (self.bounds.least_ns / high, self.bounds.least_ns / low)),
            bound_by: self.bounds.binding.filter(|_| self.attained().is_some()).map(|resource| resource.name()),
            bounds: self.bounds.all.iter().map(|bound| BoundRow::new(bound, self.taken.ns, !self.device.is_cpu())).collect(),
            reliefs: self.tried.iter().filter_map(|tried| ReliefRow::of(tried, self.kernel)).collect(),
            findings: self.findings.iter().map(|finding| FindingRow::new(finding, self.kernel)).collect(),
            not_known: &self.gaps,
        }
    }

    /// Whether it attains what it is to.
    pub fn judged(&self, fail_on: Option<f64>) -> anyhow::Result<u8> {
        let Some(least) = fail_on else { return Ok(EXIT_OK) };
        let attained = self.attained();
        let attained =
            attained.ok_or_else(|| anyhow::anyhow!("--fail-on attained: nothing tells what it attains: give --rows"))?;
        anyhow::ensure!(
            attained >= least,
            "--fail-on attained: it attains {}, and {} is wanted",
            percent(attained),
            percent(least)
        );
        Ok(EXIT_OK)
    }
}

/// Says which lines a part of a dispatch was recorded for.
fn sample(dispatch: &DispatchTrace) -> Option<String> {
    let (recorded, all) = (dispatch.recorded.len() as u64, dispatch.workgroups());
    (recorded < all).then(|| {
        let of = counted(all, "workgroup");
        format!("Shared memory, atomics, barriers and caches are those of {recorded} of {of}, as if the others were like them.")
    })
}

/// The answer as `--format json` has it.
#[derive(Serialize)]
pub struct Answer<'e> {
    kernel: &'e str,
    entry: &'e str,
    device: &'e str,
    driver: &'e str,
    time_ns: f64,
    time_ci_ns: Option<(f64, f64)>,
    quality_flags: &'e [&'static str],
    least_ns: Option<f64>,
    attained: Option<f64>,
    attained_ci: Option<(f64, f64)>,
    bound_by: Option<String>,
    bounds: Vec<BoundRow<'e>>,
    reliefs: Vec<ReliefRow<'e>>,
    findings: Vec<FindingRow<'e>>,
    not_known: &'e [&'static str],
}

/// What taking away a cost of the whole kernel did.
#[derive(Serialize)]
struct ReliefRow<'e> {
    relief: &'static str,
    /// The lines at which it stayed, as those of a finding: the kernel goes by what they do.
    kept_lines: Vec<String>,
    #[serde(flatten)]
    gain: GainRow<'e>,
    binds: Option<bool>,
}

/// By which share of its time the kernel is faster.
#[derive(Default, Serialize)]
struct GainRow<'e> {
    /// Nothing where it wasn't tried.
    gain: Option<f64>,
    gain_ci: Option<(f64, f64)>,
    /// Whether it may be more: its placebo took another time than the kernel.
    gain_is_least: Option<bool>,
    not_tried: Option<&'e str>,
}

impl<'e> GainRow<'e> {
    fn new(outcome: Option<&'e Outcome>) -> Self {
        match outcome {
            Some(Outcome::Gained(Gain { share, ends, is_least })) => {
                Self { gain: Some(*share), gain_ci: *ends, gain_is_least: Some(*is_least), not_tried: None }
            }
            Some(Outcome::NotTried(why)) => Self { not_tried: Some(why), ..Self::default() },
            None => Self::default(),
        }
    }
}

impl<'e> ReliefRow<'e> {
    fn of(tried: &'e Tried, kernel: &str) -> Option<Self> {
        let binds = match tried.verdict() {
            // That takes nothing away.
            _ if matches!(tried.trial, Trial::Crowded(_)) => None,
            Some(Verdict::Binds) => Some(true),
            Some(Verdict::LetsGo) => Some(false),
            Some(Verdict::Undecided) | None => None,
        };
        let kept_lines = tried.trial.kept().lines.iter().map(|line| line.place(kernel)).collect();
        Some(Self { relief: tried.taken_away()?, kept_lines, gain: GainRow::new(Some(&tried.outcome)), binds })
    }
}

#[derive(Serialize)]
struct FindingRow<'e> {
    kind: FindingKind,
    /// `12`, or `common.glsl:12` of another file than the shader.
    lines: Vec<String>,
    evidence: &'e str,
    remedy: &'e str,
    /// Whether the gain is the remedy's own, or that of taking away what it is about; nothing where neither was tried.
    by: Option<&'static str>,
    #[serde(flatten)]
    gain: GainRow<'e>,
}

impl<'e> FindingRow<'e> {
    fn new(finding: &'e Finding, shader: &str) -> Self {
        let (by, outcome) = match &finding.proof {
            Proof::Remedy(outcome) => (Some("remedy"), Some(outcome)),
            Proof::Relief(outcome) => (Some("relief"), Some(outcome)),
            Proof::Nothing => (None, None),
        };
        Self {
            kind: finding.kind,
            lines: finding.lines.iter().map(|line| line.place(shader)).collect(),
            evidence: &finding.evidence,
            remedy: &finding.remedy,
            by,
            gain: GainRow::new(outcome),
        }
    }
}
