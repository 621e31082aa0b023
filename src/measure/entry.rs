//! A case of a block, from loading to outcome.

use std::time::Duration;

use super::flags::{self, Pass, Subject, flags};
use super::pair::Pair;
use super::rig::Conditions;
use super::session::{Outcome, Session};
use super::stop::Stop;
use super::visit::{Loading, Visit};
use super::{Measured, PairMeasured, Timer, noise, round_medians};
use crate::model::{Case, Failure, Measurand, PipelineStatistics, Work};
use crate::stats;
use crate::units::Nanos;

/// A case of a block, on its way to an outcome.
pub(super) struct Entry<'c> {
    pub(super) loading: Loading<'c>,
    /// Its place in the block.
    pub(super) index: usize,
    pub(super) pair: Option<Pair<'c>>,
    /// Why it isn't paired, though it should be.
    pub(super) unpaired: Option<Failure>,
    pub(super) pipeline_time: Duration,
    pub(super) statistics: Option<Vec<PipelineStatistics>>,
    pub(super) overhead: Option<Nanos>,
    /// What was kept of each round.
    pub(super) visits: Vec<Visit>,
    /// Under which conditions.
    pub(super) conditions: Vec<Conditions>,
    pub(super) noise: Vec<f64>,
    pub(super) spent: Duration,
    pub(super) ended: Option<Result<Stop, Failure>>,
}

impl Entry<'_> {
    pub(super) fn case(&self) -> &Case {
        &self.loading.prepared.case
    }

    /// Whether it is about the device's work, and not about its timer.
    pub(super) fn is_pass(&self) -> bool {
        self.case().measurand == Measurand::Pass
    }

    pub(super) fn rounds(&self) -> Vec<Vec<f64>> {
        self.visits.iter().map(|visit| visit.samples.clone()).collect()
    }

    pub(super) fn ratios(&self) -> Vec<Vec<f64>> {
        self.visits.iter().map(|visit| visit.ratios.clone()).collect()
    }

    /// Noise of what the case is measured for: in a pair, of the ratio.
    pub(super) fn noise_now(&self) -> f64 {
        if self.pair.is_some() { noise(&self.ratios()) } else { noise(&self.rounds()) }
    }
}

impl Session<'_> {
    /// What came of an entry, once it has ended.
    pub(super) fn outcome(&self, entry: Entry) -> Outcome {
        let stop = entry.ended.clone().unwrap_or(Ok(Stop::Budget))?;
        let rounds = entry.rounds();
        let (case, batch) = (&entry.loading.prepared.case, entry.loading.batch);
        let measurand = case.measurand;
        let does_work = case.work != Work::default();
        let time = stats::median(&round_medians(&rounds));
        let empty_pass = entry.overhead.filter(|_| does_work).map(|Nanos(time)| time);
        let own = Pass { time, batch, floor: self.rig.instrument.floor.0, empty_pass };
        let passes: Vec<Pass> = entry.is_pass().then_some(own).into_iter().chain(self.base_pass(&entry)).collect();
        let base_conditions: Vec<Conditions> = entry.visits.iter().filter_map(|visit| visit.base_conditions).collect();
        let subject = Subject {
            noise: entry.noise_now(),
            max_noise: self.options.max_noise,
            passes: &passes,
            conditions: if entry.is_pass() { [&entry.conditions, &base_conditions] } else { [&[], &[]] },
        };
        let host_times: Vec<f64> = entry.visits.iter().flat_map(|visit| &visit.host_times).copied().collect();
        let beyond_limit = || flags::beyond_limit(case, time, &self.rig.device.info().peaks);
        let mut measured = Measured {
            batch,
            timer: self.timer_of(measurand)?,
            stop,
            overhead: entry.overhead,
            host_time: Nanos(if host_times.is_empty() { 0.0 } else { stats::median(&host_times) }),
            clock_ratio: flags::clock_ratio(&entry.conditions),
            pipeline_time: entry.pipeline_time,
            pair: entry.pair.as_ref().map(|_| PairMeasured { ratios: entry.ratios() }),
            unpaired: entry.unpaired,
            flags: flags(&subject),
            implausible: None,
            statistics: entry.statistics,
            rounds,
        };
        let implausible = entry.visits.iter().find_map(|visit| visit.implausible.clone()).or_else(beyond_limit);
        implausible.into_iter().for_each(|reason| measured.doubt(reason));
        Ok(measured)
    }

    /// The base of a pair as a pass of its own, the launch being the own one's where both are on one device.
    fn base_pass(&self, entry: &Entry) -> Option<Pass> {
        let base = entry.pair.as_ref()?.base();
        let times: Vec<Vec<f64>> = entry.visits.iter().map(|visit| visit.base.clone()).collect();
        let rig = self.base_rig.as_ref().unwrap_or(&self.rig);
        let time = stats::median(&round_medians(&times));
        Some(Pass { time, batch: base.batch, floor: rig.instrument.floor.0, empty_pass: None })
    }

    /// What a measurand is timed by: the device's timestamps themselves are read even where they are not believed.
    fn timer_of(&self, measurand: Measurand) -> Result<Timer, Failure> {
        match measurand {
            Measurand::Pass => Ok(self.rig.instrument.timer),
            _ => self.rig.scale().map(Timer::Device),
        }
    }
}
