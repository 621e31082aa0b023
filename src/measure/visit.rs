//! One visit to a case: how many passes and samples it takes, and taking them.

use std::time::Duration;

use super::Timer;
use super::instrument::{self, FLOORS_PER_SAMPLE};
use super::rig::{Conditions, Rig};
use super::stop::LAST_ROUND;
use crate::gpu::{Slot, Submission};
use crate::model::{Failure, Measurand, Status};
use crate::shader::Prepared;
use crate::stats;
use crate::units::{Nanos, TickScale};

/// One submission stays below this: graphics watchdogs end those that last seconds.
const MAX_SUBMISSION: Nanos = Nanos(100e6);

/// Beyond this many passes per sample nothing is gained: a pass that short is all launch.
const MAX_BATCH: u32 = 1024;

/// The most samples of one visit. More would only narrow the error within the visit, which isn't the one that counts.
const MAX_SAMPLES: f64 = 31.0;

/// Device time may exceed the host's for the same submission by this share, which is how far the two clocks may differ.
const CLOCKS_AGREE: f64 = 1.01;

/// A sample below this share of the floor is too short: the floor itself is known to a tenth or so on software drivers.
const BELOW_FLOOR: f64 = 0.75;

/// A case that is loaded, and the sizes in which it is sampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loading<'c> {
    pub(super) prepared: &'c Prepared,
    pub(super) slot: Slot,
    /// Passes per sample; 0 where the timer itself is measured.
    pub(super) batch: u32,
    /// Samples per visit, besides one that is discarded.
    pub(super) samples: u32,
    /// Samples that one submission may hold.
    pub(super) samples_at_once: u32,
}

/// What a visit gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Visit {
    /// Nanoseconds per pass (or what else is measured), a value per sample.
    pub(super) samples: Vec<f64>,
    /// Host time per pass of each submission, ns.
    pub(super) host_times: Vec<f64>,
    /// In pairs: the time over that of the base, of each pair of samples.
    pub(super) ratios: Vec<f64>,
    /// In pairs: the base's samples, and under which conditions they were taken where that is on another device.
    pub(super) base: Vec<f64>,
    pub(super) base_conditions: Option<Conditions>,
    /// What can't be right about it.
    pub(super) implausible: Option<String>,
}

impl<'c> Loading<'c> {
    /// A case of which nothing is known yet.
    pub(super) fn new(prepared: &'c Prepared, slot: Slot) -> Self {
        Self { prepared, slot, batch: 1, samples: 1, samples_at_once: 1 }
    }

    fn measurand(&self) -> Measurand {
        self.prepared.case.measurand
    }
}

impl Rig<'_> {
    /// Chooses passes per sample, so that a sample is at least 100 floors long, and samples per visit, so that the visits of
    /// all rounds fit the case's time.
    pub(super) fn choose_sizes(&mut self, loading: &mut Loading, max_time: Duration) -> Result<(), Failure> {
        if loading.measurand() != Measurand::Pass {
            loading.samples = if loading.measurand() == Measurand::ClockRate { 1 } else { 31 };
            loading.samples_at_once = loading.samples + 1;
            loading.batch = 0;
            return Ok(());
        }
        self.warm_up_if_idle()?;
        let target = FLOORS_PER_SAMPLE * self.instrument.floor.0;
        let may_batch = loading.prepared.case.repeatable && !self.is_cold();
        let mut time = self.sample_time(loading)?;
        while may_batch && time < target && loading.batch < MAX_BATCH && 2.0 * time < MAX_SUBMISSION.0 {
            loading.batch = next_batch(loading.batch, time, target);
            time = self.sample_time(loading)?;
        }
        let visit = Nanos::from_duration(max_time).0 / f64::from(LAST_ROUND);
        loading.samples = whole(visit / time - 1.0, MAX_SAMPLES); // one is discarded
        loading.samples_at_once = whole(MAX_SUBMISSION.0 / time, f64::from(loading.samples + 1));
        Ok(())
    }

    /// The time that one sample of the chosen batch takes, by the timer, but by the host's clock where caches are evicted
    /// before it, outside the timestamps. The least of three, so that a disturbed one doesn't choose the batch.
    fn sample_time(&mut self, loading: &Loading) -> Result<f64, Failure> {
        let timer = if self.is_cold() { Timer::Host } else { self.instrument.timer };
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let submission = self.take(loading.slot, loading.batch, 1)?;
            least = timer.durations(&submission).iter().fold(least, |least, time| least.min(time.0));
        }
        self.was_busy();
        Ok(least)
    }

    /// One visit: a discarded sample, then the case's number of samples.
    pub(super) fn visit(&mut self, loading: &Loading, max_time: Duration) -> Result<Visit, Failure> {
        let visit = match loading.measurand() {
            Measurand::Pass => self.sample_passes(loading)?,
            Measurand::TimerFloor => self.sample_floor(loading)?,
            Measurand::TimerStep => self.sample_step(loading)?,
            Measurand::ClockRate => self.sample_clock(max_time)?,
        };
        self.was_busy();
        Ok(visit)
    }

    fn sample_passes(&mut self, loading: &Loading) -> Result<Visit, Failure> {
        let mut visit = Visit::default();
        let wanted = loading.samples as usize + 1;
        while visit.samples.len() < wanted {
            let left = u32::try_from(wanted - visit.samples.len()).unwrap_or(u32::MAX);
            let at_once = if self.instrument.timer == Timer::Host { 1 } else { left.min(loading.samples_at_once) };
            self.sample_into(&mut visit, loading, at_once)?;
        }
        self.finish(&mut visit, loading);
        Ok(visit)
    }

    /// Discards the first sample, and judges whether the others can be right.
    pub(super) fn finish(&mut self, visit: &mut Visit, loading: &Loading) {
        visit.samples.remove(0);
        let sample = Nanos(stats::median(&visit.samples) * f64::from(loading.batch));
        visit.implausible = visit.implausible.take().or_else(|| implausible_time(sample, self.instrument.floor));
        self.was_busy();
    }

    /// Takes samples in one submission, and judges whether they can be right.
    pub(super) fn sample_into(&mut self, visit: &mut Visit, loading: &Loading, samples: u32) -> Result<(), Failure> {
        let submission = self.take(loading.slot, loading.batch, samples)?;
        let times = self.instrument.timer.durations(&submission);
        let host = Nanos::from_duration(submission.host);
        if let Timer::Device(scale) = self.instrument.timer {
            outlasts_timestamps(&submission, scale)?;
            let device = Nanos(times.iter().map(|time| time.0).sum());
            visit.implausible = visit.implausible.take().or_else(|| more_than_the_hosts(device, host));
        }
        let batch = f64::from(loading.batch);
        visit.host_times.push(host.0 / (batch * f64::from(samples)));
        visit.samples.extend(times.iter().map(|time| time.0 / batch));
        Ok(())
    }

    fn sample_floor(&mut self, loading: &Loading) -> Result<Visit, Failure> {
        let (submission, scale) = self.sample_timer(loading)?;
        let times = Timer::Device(scale).durations(&submission);
        Ok(Visit { samples: times.iter().skip(1).map(|time| time.0).collect(), ..of_timer(&submission) })
    }

    fn sample_step(&mut self, loading: &Loading) -> Result<Visit, Failure> {
        let (submission, scale) = self.sample_timer(loading)?;
        Ok(Visit { samples: vec![instrument::step(&submission, scale).0], ..of_timer(&submission) })
    }

    /// Timestamps back to back. They are the subject here, so they are read even where they are not believed.
    fn sample_timer(&mut self, loading: &Loading) -> Result<(Submission, TickScale), Failure> {
        let scale = self.scale()?;
        Ok((self.device.sample(loading.slot, 0, loading.samples + 1)?, scale))
    }

    fn sample_clock(&mut self, max_time: Duration) -> Result<Visit, Failure> {
        let (scale, tools) = (self.scale()?, self.tools());
        let rate = instrument::clock_rate(self.device, tools, scale, max_time.min(Duration::from_millis(100)))?;
        Ok(Visit { samples: vec![rate], ..Visit::default() })
    }
}

#[expect(clippy::cast_precision_loss, reason = "samples are few")]
fn of_timer(submission: &Submission) -> Visit {
    let host = Nanos::from_duration(submission.host).0 / submission.samples.len() as f64;
    Visit { host_times: vec![host], ..Visit::default() }
}

/// Timestamps that wrapped within a submission say nothing about it.
fn outlasts_timestamps(submission: &Submission, scale: TickScale) -> Result<(), Failure> {
    if Nanos::from_duration(submission.host) < scale.wrap() {
        return Ok(());
    }
    let (host, wrap) = (submission.host, scale.wrap());
    Err(Failure::new(Status::Error, format!("a submission of {host:?} outlasts the timestamps, which wrap after {wrap}")))
}

/// The device can't have worked longer than the host waited for it.
fn more_than_the_hosts(device: Nanos, host: Nanos) -> Option<String> {
    let plausible = device.0 <= CLOCKS_AGREE * host.0;
    (!plausible).then(|| format!("by its timestamps the device took {device} for what the host saw end after {host}"))
}

/// A sample can't be shorter than two timestamps back to back.
fn implausible_time(sample: Nanos, floor: Nanos) -> Option<String> {
    let plausible = sample.0.is_finite() && sample.0 > 0.0 && sample.0 >= BELOW_FLOOR * floor.0;
    (!plausible).then(|| format!("a sample takes {sample}, though two timestamps back to back take {floor}"))
}

/// A power of two, so that few batch sizes need an empty pass measured; at most sixteen times the last, since a time near the
/// floor says little.
fn next_batch(batch: u32, time: f64, target: f64) -> u32 {
    let factor = whole(target / time.max(1.0), 16.0).max(2).next_power_of_two();
    (batch * factor).min(MAX_BATCH)
}

/// A count between 1 and `most`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small range; NaN becomes 1")]
fn whole(count: f64, most: f64) -> u32 {
    count.max(1.0).min(most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_right_is_said() {
        assert_eq!(more_than_the_hosts(Nanos(1000.0), Nanos(1000.0)), None);
        let said = more_than_the_hosts(Nanos(1020.0), Nanos(1000.0));
        assert_eq!(said.as_deref(), Some("by its timestamps the device took 1.02 us for what the host saw end after 1.00 us"));
        assert!(more_than_the_hosts(Nanos(f64::NAN), Nanos(1000.0)).is_some());
        assert_eq!(implausible_time(Nanos(500.0), Nanos(640.0)), None);
        for wrong in [450.0, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(implausible_time(Nanos(wrong), Nanos(640.0)).is_some(), "{wrong}");
        }
    }
}
