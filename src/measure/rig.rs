//! A calibrated device: keeping it busy, sampling on it, and watching its clock and its processor meanwhile.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::core_clock::{self, CoreReading, CoreReadings};
use super::local::LocalOptions;
use super::memory_watch::MemoryWatch;
use super::processor::Contention;
use super::shortfall::Shortfalls;
use super::visit::SampledCase;
use super::{Dispatcher, Instrument, ProcessorTime, Timer, ToolCases, Tools, flags};
use crate::gpu::{CaseHandle, Samples, Submission};
use crate::model::{DeviceKind, Failure, Measurand, Status, real};
use crate::shader::Prepared;
use crate::stats;
use crate::units::{Nanos, TickScale};

/// A device that had nothing to do for this long may have lowered its clocks.
pub(super) const IDLE: Duration = Duration::from_millis(20);

/// A sample of at least this long is watched: the sentinel runs right after it. How fast power is limited isn't published; shorter
/// samples follow each other, and the sentinel after the visit sees what they did.
const LONG_SAMPLE: Duration = Duration::from_millis(5);

/// The sweep takes at most this part of the memory that is there for cases.
const SWEEP_SHARE: u32 = 4;

pub(super) struct Rig<'a> {
    pub(super) device: Box<dyn Dispatcher + 'a>,
    pub(super) instrument: Instrument,
    cases: ToolCases,
    pub(super) tools: Tools,
    pub(super) warm_up: Duration,
    pub(super) contention: Contention,
    /// Where memory's speed can be told.
    memory: Option<MemoryWatch>,
    /// Nanoseconds in a tick of the device's clock, where its counters tell the core's.
    core_period: Option<f64>,
    /// The sentinel's times right after long samples, since the visit began.
    after_samples: Vec<f64>,
    pub(super) shortfalls: Shortfalls,
    last_busy: Duration,
    /// Whether it idled since its clocks were last known to have risen, and was found fast enough for a glance.
    is_spared: bool,
}

/// What a visit saw of the device beside its samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Clock rate right after the visit, over that at the start; or right after its samples, where these are long and it was lower.
    #[serde(with = "real")]
    pub clock: f64,
    /// The share of processor time, or of a GPU's, that went to other processes; `None` where nothing tells.
    pub lost: Option<f64>,
    /// The core clock at that moment, in MHz; `None` where the vendor's interface doesn't tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mhz: Option<f64>,
    /// Memory's speed over that at the start, as last seen; `None` where it isn't watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// What the device's counters showed before and after; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreReadings>,
}

/// A moment before a visit.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    processor: Option<ProcessorTime>,
    core: Option<CoreReading>,
}

impl Conditions {
    /// Of a clock that stayed, and nothing else told.
    pub const UNTOLD: Self = Self { clock: 1.0, lost: None, mhz: None, memory: None, core: None };

    /// Relates the clock to another time of the sentinel than it was.
    pub fn relate(&mut self, from: Nanos, to: Nanos) {
        self.clock *= to.0 / from.0;
    }
}

impl<'a> Rig<'a> {
    pub(super) fn calibrate(
        mut device: Box<dyn Dispatcher + 'a>,
        cases: ToolCases,
        options: LocalOptions,
    ) -> Result<Self, Failure> {
        let tools = load(device.as_mut(), &cases)?;
        let instrument = Instrument::calibrate(device.as_mut(), tools, options);
        let memory = instrument.as_ref().map_or(Ok(None), |found| MemoryWatch::begin(device.as_mut(), tools, found.timer));
        let core = instrument.as_ref().map_or(Ok(Vec::new()), |found| core_clock::begin(device.as_mut(), tools, found.timer));
        device.unload();
        let (memory, core_readings) = (memory?, core?);
        let core_period = core_readings.first().map(|reading| reading.period);
        let instrument = Instrument { core_readings, ..instrument? };
        if options.is_cold && instrument.timer == Timer::Host {
            let why = instrument.note.as_deref().unwrap_or_default();
            return Err(Failure::new(Status::Error, format!("cold mode needs the device's timestamps ({why})")));
        }
        let last_busy = device.now();
        Ok(Self {
            device,
            instrument,
            cases,
            tools,
            warm_up: options.warm_up,
            contention: Contention::default(),
            memory,
            core_period,
            after_samples: Vec::new(),
            shortfalls: Shortfalls::new(),
            last_busy,
            is_spared: false,
        })
    }

    /// Loads the tools, before the cases of a block.
    pub(super) fn load_tools(&mut self) -> Result<(), Failure> {
        self.shortfalls.clear();
        self.tools = load(self.device.as_mut(), &self.cases)?;
        Ok(())
    }

    /// Keeps the device busy with the sentinel if it had nothing to do for a while: clocks take 200 to 450 ms to rise. For a glance only
    /// where it isn't as fast as at the start: the sentinel sees the core's clock, and that of the memory may have fallen alone, so
    /// that whatever is more than a glance makes up for it.
    pub(super) fn warm_up_if_idle(&mut self, is_glance: bool) -> Result<(), Failure> {
        if is_glance && self.is_idle() {
            let now = Conditions { clock: self.clock()?, ..Conditions::UNTOLD };
            if !flags::is_throttled(&now) {
                self.is_spared = true;
                self.was_busy();
            }
        }
        if self.is_idle() || (self.is_spared && !is_glance) { self.warm_up() } else { Ok(()) }
    }

    /// Whether it had nothing to do for so long that its clocks may have fallen.
    fn is_idle(&self) -> bool {
        self.device.now().saturating_sub(self.last_busy) >= IDLE
    }

    /// Its clock rate now over that at the start.
    fn clock(&mut self) -> Result<f64, Failure> {
        let Nanos(sentinel) = self.instrument.timer.sentinel(self.device.as_mut(), self.tools)?;
        Ok(self.instrument.sentinel.0 / sentinel)
    }

    /// Keeps the device busy until its clocks have risen.
    pub(super) fn warm_up(&mut self) -> Result<(), Failure> {
        let until = self.device.now() + self.warm_up;
        self.keep_busy(until)?;
        self.was_busy();
        self.is_spared = false;
        Ok(())
    }

    pub(super) fn keep_busy(&mut self, until: Duration) -> Result<(), Failure> {
        while self.device.now() < until {
            self.device.sample(self.tools.sentinel, 1, 1)?;
            self.was_busy();
        }
        Ok(())
    }

    pub(super) fn was_busy(&mut self) {
        self.last_busy = self.device.now();
    }

    /// Notes that the device has had nothing to do for a while.
    pub(super) fn was_idle(&mut self) {
        self.last_busy = Duration::ZERO;
    }

    /// Samples in the form in which they are timed.
    pub(super) fn take(&mut self, subject: &SampledCase, batch: u32, samples: u32) -> Result<Submission, Failure> {
        let evictor = self.tools.evictor.filter(|_| subject.is_cold());
        self.device.sample_between(Samples { evictor, ..Samples::of(subject.slot, batch, samples) })
    }

    /// Samples in the form in which they are timed, in one submission. Long ones of a GPU are followed by the sentinel at once: a
    /// clock that fell for the power that they draw may be up again by the time that the host has seen them end.
    pub(super) fn take_watched(&mut self, subject: &SampledCase, batch: u32, samples: u32) -> Result<Submission, Failure> {
        let SampledCase { slot, sizes, .. } = *subject;
        let is_watched = batch == sizes.batch
            && sizes.sample_time >= LONG_SAMPLE
            && subject.measurand() == Measurand::Pass
            && self.device.info().kind != DeviceKind::Cpu
            && !subject.is_cold();
        let Timer::Device(scale) = self.instrument.timer else { return self.take(subject, batch, samples) };
        if !is_watched {
            return self.take(subject, batch, samples);
        }
        let mut submission =
            self.device.sample_between(Samples { then: Some(self.tools.sentinel), ..Samples::of(slot, batch, samples) })?;
        if let Some((start, end)) = submission.after {
            let sentinel = scale.between(start, end);
            self.after_samples.push(sentinel.0);
            // What the host waited for besides.
            submission.host = submission.host.saturating_sub(sentinel.to_duration());
        }
        Ok(submission)
    }

    /// The device's timestamps as time, even where they are not believed: for what measures the timestamps themselves.
    pub(super) fn scale(&self) -> Result<TickScale, Failure> {
        self.device.tick_scale().ok_or_else(|| Failure::new(Status::Error, "the queue has no timestamps"))
    }

    /// What the device's counters of time and cycles show now, where it has them.
    pub(super) fn read_core(&mut self) -> Result<Option<CoreReading>, Failure> {
        let found = self.tools.core_clock.zip(self.core_period);
        let read = found.map(|(case, period)| CoreReading::take(self.device.as_mut(), case, period));
        Ok(read.transpose()?.flatten())
    }

    /// What [`Rig::conditions_since`] needs of a moment. A glance is too short for the core's clock.
    pub(super) fn begin(&mut self, is_glance: bool) -> Result<Before, Failure> {
        self.after_samples.clear();
        let core = if is_glance { None } else { self.read_core()? };
        Ok(Before { core, processor: self.device.processor_time() })
    }

    pub(super) fn conditions_since(&mut self, before: &Before) -> Result<Conditions, Failure> {
        let after = self.device.processor_time();
        let lost = before.processor.as_ref().zip(after).and_then(|(before, after)| self.contention.lost(before, after));
        let after = before.core.map_or(Ok(None), |_| self.read_core())?;
        let core = before.core.zip(after).map(|(before, after)| CoreReadings { before, after });
        let after_visit = self.clock()?;
        let watch = self.memory.as_mut().zip(self.tools.sweep);
        let memory = watch.map(|(watch, sweep)| watch.look(self.device.as_mut(), sweep)).transpose()?.flatten();
        self.was_busy();
        let after_samples = self.instrument.sentinel.0 / stats::median(&std::mem::take(&mut self.after_samples));
        // Without long samples it is no number, which is no minimum.
        let clock = after_visit.min(after_samples);
        // After the sentinel and the sweep, which must not find a device that idled while a driver thought. The clock is still up.
        let mhz = self.device.core_clock_mhz();
        let lost = lost.or_else(|| self.device.taken_by_others());
        Ok(Conditions { clock, lost, mhz, memory, core })
    }
}

fn load(device: &mut dyn Dispatcher, cases: &ToolCases) -> Result<Tools, Failure> {
    let empty = device.load(&cases.empty)?.slot;
    let sentinel = device.load(&cases.sentinel)?.slot;
    let core_clock = cases.core_clock.as_ref().map_or(Ok(None), |clock| load_core_clock(device, clock))?;
    let evictor = cases.evictor.as_ref().map(|evictor| device.load(evictor)).transpose()?.map(|loaded| loaded.slot);
    // The first dispatch, in which some drivers compile.
    device.run_checked(empty)?;
    device.run_checked(sentinel)?;
    if let Some(evictor) = evictor {
        device.run_checked(evictor)?;
    }
    let sweep = cases.sweep.as_ref().map(|sweep| load_sweep(device, sweep)).transpose()?.flatten();
    Ok(Tools { empty, sentinel, core_clock, evictor, sweep })
}

/// A driver that can't read its counters measures all the same.
fn load_core_clock(device: &mut dyn Dispatcher, clock: &Prepared) -> Result<Option<CaseHandle>, Failure> {
    let run = device.load(clock).and_then(|loaded| device.run_checked(loaded.slot).map(|_| loaded.slot));
    match run {
        Err(failure) if !matches!(failure.status, Status::DeviceLost | Status::Timeout) => Ok(None),
        run => run.map(Some),
    }
}

/// What watches must not take what the cases need: without much room, memory isn't watched.
fn load_sweep(device: &mut dyn Dispatcher, sweep: &Prepared) -> Result<Option<CaseHandle>, Failure> {
    if !device.footprint(sweep).fits(device.memory_budget().share(SWEEP_SHARE)) {
        return Ok(None);
    }
    match device.load(sweep) {
        Err(failure) if failure.status == Status::OutOfMemory => Ok(None),
        loaded => {
            let slot = loaded?.slot;
            device.run_checked(slot)?;
            Ok(Some(slot))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_earlier_versions_are_read() {
        let fine = Conditions::UNTOLD;
        assert_eq!(serde_json::from_str::<Conditions>(r#"{"clock":1.0,"lost":null}"#).unwrap(), fine);
        for conditions in [fine, Conditions { mhz: Some(1836.5), memory: Some(0.875), ..fine }] {
            let told = serde_json::to_string(&conditions).unwrap();
            assert_eq!(serde_json::from_str::<Conditions>(&told).unwrap(), conditions);
        }
    }
}
