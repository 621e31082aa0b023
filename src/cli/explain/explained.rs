//! What is known of a kernel, and the answer that follows.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::analysis::counted;
use crate::analysis::limits::Limits;
use crate::campaign::trace::{DispatchTrace, Traces};
use crate::cli::trace::text::headline;
use crate::error::EXIT_OK;
use crate::explain::bounds::{self, BoundRow, PassBounds};
use crate::explain::demand::Demand;
use crate::explain::measured::Taken;
use crate::explain::reliefs::{Outcome, Tried, Verdict};
use crate::model::DeviceInfo;
use crate::shader::Relief;
use crate::trace::hardware::Hardware;
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
    /// Which of them are scaled from a few workgroups.
    pub sample: Option<String>,
    /// What isn't among the bounds.
    pub gaps: Vec<&'static str>,
}

impl<'e> Explained<'e> {
    pub fn new(device: &'e DeviceInfo, traces: &'e Traces, taken: Taken, hardware: &Hardware, limits: &Limits) -> Self {
        let dispatches = &traces.dispatches;
        let demands: Vec<Demand> = dispatches.iter().map(|dispatch| Demand::of(dispatch, hardware)).collect();
        let bounds: Vec<_> = demands.iter().map(|demand| bounds::of_dispatch(demand, limits)).collect();
        let gaps: BTreeSet<&str> = demands.iter().flat_map(|demand| &demand.gaps).copied().collect();
        let first = dispatches.first();
        let of_several = match dispatches.len() {
            0 | 1 => String::new(),
            count => format!(", the first of {count} dispatches"),
        };
        Self {
            device,
            kernel: first.map_or("", |dispatch| &dispatch.what.source),
            entry: first.map_or("", |dispatch| &dispatch.what.entry),
            heading: first.map_or_else(String::new, |dispatch| headline(dispatch, device) + &of_several),
            bounds: PassBounds::of(&bounds),
            taken,
            tried: Vec::new(),
            sample: first.and_then(sample),
            gaps: gaps.into_iter().collect(),
        }
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
            reliefs: self.tried.iter().map(ReliefRow::new).collect(),
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
    not_known: &'e [&'static str],
}

/// What a relief did.
#[derive(Serialize)]
struct ReliefRow<'e> {
    relief: Relief,
    /// Nothing where it wasn't tried.
    gain: Option<f64>,
    gain_ci: Option<(f64, f64)>,
    binds: Option<bool>,
    not_tried: Option<&'e str>,
}

impl<'e> ReliefRow<'e> {
    fn new(tried: &'e Tried) -> Self {
        let (gain, gain_ci, not_tried) = match &tried.outcome {
            Outcome::Gained { share, ends } => (Some(*share), *ends, None),
            Outcome::NotTried(why) => (None, None, Some(why.as_str())),
        };
        let binds = match tried.verdict() {
            Some(Verdict::Binds) => Some(true),
            Some(Verdict::LetsGo) => Some(false),
            Some(Verdict::Undecided) | None => None,
        };
        Self { relief: tried.relief, gain, gain_ci, binds, not_tried }
    }
}
