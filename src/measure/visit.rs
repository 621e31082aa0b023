//! One visit to a case: how many passes and samples it takes, and taking them.

use std::time::Duration;

use super::instrument::{self, FLOORS_PER_SAMPLE};
use super::session::{Entry, Session};
use super::stop::LAST_ROUND;
use super::{Timer, Tools};
use crate::gpu::Submission;
use crate::model::{Failure, Measurand, Status};
use crate::units::{Nanos, TickScale};

/// One submission stays below this: graphics watchdogs end those that last seconds.
const MAX_SUBMISSION: Nanos = Nanos(100e6);

/// Beyond this many passes per sample nothing is gained: a pass that short is all launch.
const MAX_BATCH: u32 = 1024;

/// The most samples of one visit. More would only narrow the error within the visit, which isn't the one that counts.
const MAX_SAMPLES: f64 = 31.0;

/// A device that had nothing to do for this long may have lowered its clocks.
const IDLE: Duration = Duration::from_millis(20);

impl Session<'_> {
    /// Keeps the device busy with the sentinel if it had nothing to do for a while: clocks take 200 to 450 ms to rise.
    pub(super) fn warm_up_if_idle(&mut self, tools: Tools) -> Result<(), Failure> {
        if self.device.now().saturating_sub(self.last_busy) < IDLE {
            return Ok(());
        }
        let until = self.device.now() + self.options.warm_up;
        self.keep_busy(tools, until)?;
        self.last_busy = self.device.now();
        Ok(())
    }

    /// Runs the sentinel until then.
    pub(super) fn keep_busy(&mut self, tools: Tools, until: Duration) -> Result<(), Failure> {
        while self.device.now() < until {
            self.device.sample(tools.sentinel, 1, 1)?;
            self.last_busy = self.device.now();
        }
        Ok(())
    }

    /// Chooses passes per sample, so that a sample is at least 100 floors long, and samples per visit, so that the visits of
    /// all rounds fit the case's time.
    pub(super) fn choose_sizes(&mut self, entry: &mut Entry, tools: Tools) -> Result<(), Failure> {
        if entry.prepared.case.measurand != Measurand::Pass {
            entry.samples = if entry.prepared.case.measurand == Measurand::ClockRate { 1 } else { 31 };
            entry.samples_at_once = entry.samples + 1;
            entry.batch = 0;
            return Ok(());
        }
        let target = FLOORS_PER_SAMPLE * self.instrument.floor.0;
        let mut time = self.sample_time(entry, tools)?;
        while may_batch(entry, tools) && time < target && entry.batch < MAX_BATCH && 2.0 * time < MAX_SUBMISSION.0 {
            entry.batch = next_batch(entry.batch, time, target);
            time = self.sample_time(entry, tools)?;
        }
        let visit = Nanos::from_duration(self.options.max_time).0 / f64::from(LAST_ROUND);
        entry.samples = whole(visit / time - 1.0, MAX_SAMPLES); // one is discarded
        entry.samples_at_once = whole(MAX_SUBMISSION.0 / time, f64::from(entry.samples + 1));
        Ok(())
    }

    /// The time that one sample of the entry's batch takes, by the timer, but by the host's clock where caches are evicted
    /// before it, outside the timestamps. The least of three, so that a disturbed one doesn't choose the batch.
    fn sample_time(&mut self, entry: &Entry, tools: Tools) -> Result<f64, Failure> {
        let timer = if tools.evictor.is_some() { Timer::Host } else { self.instrument.timer };
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let submission = self.take(entry, tools, 1)?;
            least = timer.durations(&submission).iter().fold(least, |least, time| least.min(time.0));
        }
        self.last_busy = self.device.now();
        Ok(least)
    }

    /// Samples of an entry in the form in which they are timed.
    pub(super) fn take(&mut self, entry: &Entry, tools: Tools, samples: u32) -> Result<Submission, Failure> {
        match tools.evictor {
            Some(evictor) => self.device.sample_cold(entry.slot, samples, evictor),
            None => self.device.sample(entry.slot, entry.batch, samples),
        }
    }

    /// One visit: a discarded sample, then the entry's number of samples.
    pub(super) fn visit(&mut self, entry: &mut Entry, tools: Tools) -> Result<(), Failure> {
        let started = self.device.now();
        let samples = match entry.prepared.case.measurand {
            Measurand::Pass => self.sample_passes(entry, tools)?,
            Measurand::TimerFloor => self.sample_floor(entry)?,
            Measurand::TimerStep => vec![self.sample_step(entry)?],
            Measurand::ClockRate => vec![self.sample_clock(tools)?],
        };
        entry.rounds.push(samples);
        self.last_busy = self.device.now();
        entry.spent += self.last_busy.saturating_sub(started);
        Ok(())
    }

    fn sample_passes(&mut self, entry: &mut Entry, tools: Tools) -> Result<Vec<f64>, Failure> {
        let timer = self.instrument.timer;
        let wanted = entry.samples as usize + 1;
        let mut times = Vec::with_capacity(wanted);
        while times.len() < wanted {
            let left = u32::try_from(wanted - times.len()).unwrap_or(u32::MAX);
            let count = if timer == Timer::Host { 1 } else { left.min(entry.samples_at_once) };
            let submission = self.take(entry, tools, count)?;
            if let Timer::Device(scale) = timer {
                if Nanos::from_duration(submission.host) >= scale.wrap() {
                    let reason = format!(
                        "a submission of {:?} outlasts the timestamps, which wrap after {}",
                        submission.host,
                        scale.wrap()
                    );
                    return Err(Failure::new(Status::Error, reason));
                }
            }
            let passes = f64::from(entry.batch) * f64::from(count);
            entry.host_times.push(Nanos::from_duration(submission.host).0 / passes);
            times.extend(timer.durations(&submission).iter().map(|time| time.0 / f64::from(entry.batch)));
        }
        times.remove(0);
        Ok(times)
    }

    fn sample_floor(&mut self, entry: &mut Entry) -> Result<Vec<f64>, Failure> {
        let (submission, scale) = self.sample_timer(entry)?;
        Ok(Timer::Device(scale).durations(&submission).iter().skip(1).map(|time| time.0).collect())
    }

    fn sample_step(&mut self, entry: &mut Entry) -> Result<f64, Failure> {
        let (submission, scale) = self.sample_timer(entry)?;
        Ok(instrument::step(&submission, scale).0)
    }

    /// Timestamps back to back. They are the subject here, so they are read even where they are not believed.
    fn sample_timer(&mut self, entry: &mut Entry) -> Result<(Submission, TickScale), Failure> {
        let scale = self.device.tick_scale().ok_or_else(no_timestamps)?;
        let submission = self.device.sample(entry.slot, 0, entry.samples + 1)?;
        entry.host_times.push(Nanos::from_duration(submission.host).0 / f64::from(entry.samples + 1));
        Ok((submission, scale))
    }

    fn sample_clock(&mut self, tools: Tools) -> Result<f64, Failure> {
        let scale = self.device.tick_scale().ok_or_else(no_timestamps)?;
        instrument::clock_rate(self.device, tools, scale, self.options.max_time.min(Duration::from_millis(100)))
    }
}

/// What a figure of the timer itself can't be had without.
pub(super) fn no_timestamps() -> Failure {
    Failure::new(Status::Error, "the queue has no timestamps")
}

/// Whether a pass may follow itself within a sample.
fn may_batch(entry: &Entry, tools: Tools) -> bool {
    entry.prepared.case.repeatable && tools.evictor.is_none()
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
