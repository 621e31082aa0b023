//! Whether invocations race in the configurations that may win: what they access is recorded.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::spec::Search;
use crate::analysis::counted;
use crate::campaign::interrupt;
use crate::campaign::trace::findings::faults;
use crate::campaign::trace::passes::trace;
use crate::campaign::trace::{DispatchTrace, Groups, Order};
use crate::measure::CaseKey;
use crate::model::{Cache, Failure, Point, Status};
use crate::output::{Mode, Progress};
use crate::shader::{Target, Traced};
use crate::subject::KernelSpec;
use crate::trace::check::{Cause, Class};
use crate::trace::hardware::Hardware;
use crate::trace::requests::Lanes;

/// Workgroups of a configuration that are looked at.
const GROUPS: u32 = 4;

/// The share of the search's time that this may take, and what it may take in any case. The best is looked at whatever that takes.
const SHARE: f64 = 0.08;
const LEAST: Duration = Duration::from_millis(500);

/// Whether it loses. What leaves buffers that are bound is looked for in all workgroups, and not here.
fn loses(cause: &Cause, traced: &Traced) -> bool {
    match cause.class {
        Class::Race | Class::Divergence | Class::Uninitialised => true,
        Class::Bounds => matches!(traced.sites[cause.first].target, Target::Address { .. }),
        _ => false,
    }
}

/// What was looked at of a configuration.
struct Looked {
    /// Workgroups, and all that there are.
    groups: u64,
    all_groups: u64,
    /// Instructions that none of these came to, and all.
    unreached: usize,
    instructions: usize,
}

/// Looks for races in configurations, each once.
pub struct RaceCheck<'r> {
    search: &'r Search<'r>,
    /// Those that are through.
    seen: BTreeMap<Point, Looked>,
    spent: Duration,
    is_lost: bool,
}

impl<'r> RaceCheck<'r> {
    pub fn new(search: &'r Search<'r>) -> Self {
        Self { search, seen: BTreeMap::new(), spent: Duration::ZERO, is_lost: !search.checks_races }
    }

    /// Looks at the first, and at the others while there is time. Gives those that can't win, and why.
    pub fn look(&mut self, points: &[Point], spent: Duration) -> Vec<(Point, String)> {
        let most = spent.mul_f64(SHARE).max(LEAST);
        let mut failed = Vec::new();
        for (i, point) in points.iter().enumerate() {
            if self.is_lost || (i > 0 && self.spent > most) {
                break;
            }
            if self.seen.contains_key(point) {
                continue;
            }
            let began = Instant::now();
            match self.found(point) {
                Ok(faults) => failed.extend(faults.map(|why| (point.clone(), why))),
                Err(failure) => self.lose(&failure),
            }
            self.spent += began.elapsed();
        }
        failed
    }

    fn lose(&mut self, failure: &Failure) {
        self.is_lost = true;
        // A simulated device runs nothing.
        if failure.status != Status::Skipped && !interrupt::is_asked() {
            let Failure { status, reason, .. } = failure;
            let words = format!("note: whether invocations race couldn't be looked at: {status}: {reason}");
            self.search.campaign.voice.progress.note(&words);
        }
    }

    /// Why a configuration can't win, if it can't.
    fn found(&mut self, point: &Point) -> Result<Option<String>, Failure> {
        let Search { campaign, subject, .. } = self.search;
        let device = self.search.device();
        let order = Order {
            key: CaseKey {
                experiment: format!("tune/{}", subject.name),
                variant: String::new(),
                cache: Cache::Warm,
                point: point.clone(),
            },
            subject: Some(KernelSpec { is_traced: true, ..subject.clone() }),
            groups: Groups::Spread(GROUPS),
            lanes: Lanes::OfDevice,
            hardware: Hardware::of_vendor(device.vendor_id, device.subgroup.size),
            check: true,
            explains: false,
            tries: None,
        };
        let traces = trace(campaign, &order, &Progress::new(Mode::Quiet), None)?;
        let all = &traces.dispatches;
        let looked = Looked {
            groups: all.iter().map(DispatchTrace::known).sum(),
            all_groups: all.iter().map(DispatchTrace::workgroups).sum(),
            unreached: all.iter().map(|of| of.unreached().len()).sum(),
            instructions: all.iter().map(|of| of.what.traced.sites.len()).sum(),
        };
        let faults = faults(&traces.dispatches, loses);
        if faults.is_empty() {
            self.seen.insert(point.clone(), looked);
            return Ok(None);
        }
        let more = if faults.len() > 1 { format!(" and {} more", faults.len() - 1) } else { String::new() };
        Ok(Some(format!(
            "{}{more}: right here by chance (`lanescope trace --check` shows more; --no-check lets it win)",
            faults[0]
        )))
    }

    /// What was looked for in a configuration.
    pub fn said(&self, point: &Point) -> Option<String> {
        let Looked { groups, all_groups, unreached, instructions } = self.seen.get(point).filter(|looked| looked.groups > 0)?;
        let groups = if *all_groups == 1 { "1 workgroup".to_owned() } else { format!("{groups} of {all_groups} workgroups") };
        let rest = match unreached {
            0 => String::new(),
            _ => format!(", which didn't come to {unreached} of {}", counted(*instructions as u64, "instruction")),
        };
        let what = if self.search.subject.addresses.is_empty() {
            "No race"
        } else {
            "No race and no address beyond the kernel's memory"
        };
        Some(format!("{what} was found in {groups}{rest} ({:.1} s for all that were looked at).", self.spent.as_secs_f64()))
    }
}
