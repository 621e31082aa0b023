//! A device that simulates time and computes nothing: it proves plumbing, and only that.

use std::time::Duration;

use globset::GlobMatcher;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Dispatcher, ProcessorTime, ThreadTime};
use crate::error::{Error, nearest};
use crate::experiments::calibration::core_clock;
use crate::globs;
use crate::gpu::{CaseHandle, Loaded, Samples, Submission};
use crate::model::{
    Bound, Case, DeviceInfo, DeviceKind, Executable, Failure, Feature, Footprint, GpuState, Measurand, OtherProcess, Peak,
    PipelineDetail, PipelineStatistics, Quirk, Representation, StatValue, Status, Step, SubgroupClass,
};
use crate::shader::Prepared;
use crate::units::{TickScale, Ticks};

/// Two timestamps back to back.
const FLOOR_NS: f64 = 500.0;
/// What a submission costs the host beyond the device's time.
const SUBMIT_NS: f64 = 20_000.0;
/// A dispatch of nothing.
const DISPATCH_NS: f64 = 2000.0;
/// How much longer a pass takes whose data were evicted.
const COLD_FACTOR: f64 = 2.0;
/// The same of what lies in the host's memory.
const SPILLED_FACTOR: f64 = 10.0;
/// How many times as long that takes which is told to be slow.
const SLOW_FACTOR: f64 = 10.0;
const BARRIER_NS: f64 = 100.0;
/// How long the core's clock takes to come back to where it was, and how far it goes between.
const CORE_PERIOD_NS: f64 = 1e8;
const CORE_STEP: f64 = 1.0075;
/// Of a chain of dependent arithmetic.
const CYCLES_PER_STEP: f64 = 4.0;

/// Declares the options: what each is where it isn't given, and what reads it.
macro_rules! options {
    ($($(#[$doc:meta])* $key:ident: $type:ty = $default:expr, $read:expr;)+) => {
        /// What the mock simulates besides a perfect device.
        #[derive(Clone, Debug)]
        pub struct MockOptions {
            $($(#[$doc])* pub $key: $type,)+
        }

        impl Default for MockOptions {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl MockOptions {
            fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
                match key {
                    $(stringify!($key) => self.$key = $read(key, value)?,)+
                    _ => {
                        let nearest = nearest(key, [$(stringify!($key)),+]);
                        return Err(Error::Unknown { what: "option of the mock device", given: key.to_owned(), nearest });
                    }
                }
                Ok(())
            }
        }
    };
}

options! {
    /// Relative standard deviation of samples within a submission.
    noise: f64 = 0.01, number(0.0, 1.0);
    /// Relative standard deviation between submissions.
    spread: f64 = 0.0, number(0.0, 1.0);
    /// Relative standard deviation between processes.
    process: f64 = 0.0, number(0.0, 1.0);
    /// By how much of itself a pass gets slower per simulated second.
    drift: f64 = 0.0, number(-1.0, 1.0);
    /// By how much of itself moving bytes gets slower per simulated second, all else being as fast as ever.
    memory_drift: f64 = 0.0, number(-1.0, 1.0);
    /// The device clock's rate over the host's.
    clock: f64 = 1.0, number(0.01, 100.0);
    /// Valid bits of timestamps; 0 for none.
    bits: u32 = 64, bits;
    /// How many times as fast as the usual mock it works.
    speed: f64 = 1.0, number(0.001, 1000.0);
    /// The core clock that it tells, in MHz, while it is as fast as at the start; 0 for none. Nothing gets faster or slower by it.
    mhz: f64 = 1500.0, number(0.0, 1e5);
    /// The core clock that its counters show, in MHz; 0 for no counters. Half of the time it is a step higher, and what is
    /// computed is as much faster.
    core_mhz: f64 = 0.0, number(0.0, 1e5);
    /// How many times as long anything takes right after a long sample as after a rest: its power is limited, and it lowers its clock.
    power: f64 = 1.0, number(1.0, 100.0);
    /// The share of its processor time that other processes take.
    contention: f64 = 0.0, number(0.0, 0.99);
    /// The share of the device's time that other processes take, as drivers of GPUs tell it; 0 where none can be seen.
    others: f64 = 0.0, number(0.0, 0.99);
    /// What its memory, and workgroup memory, can physically move, and what its units can compute, in 10^9 per second; 0 for unknown.
    peak: f64 = 0.0, number(0.0, 1e9);
    /// Loop iterations of one invocation beyond which a driver fault shows; 0 for no fault.
    iterations: u64 = 0, count;
    /// Subgroup reductions and scans in one loop beyond which another fault shows; 0 for no fault.
    reductions: u64 = 0, count;
    /// Optional features that it has, by a glob over Vulkan's names of them, such as `shaderInt64`.
    can: Option<GlobMatcher> = None, glob;
    /// What kind of device it says to be; sizes follow from that.
    kind: DeviceKind = DeviceKind::Other, kind;
    /// Bytes that its memory really holds: of a case that has more, the rest lies in the host's, a tenth as fast; 0 for all.
    spill: u64 = 0, count;
    // What follows is told by a glob over names such as `memory/stream`, or over these with the axes after a blank.
    /// Experiments whose results are wrong.
    wrong: Option<GlobMatcher> = None, glob;
    /// Experiments that take ten times as long as they should.
    slow: Option<GlobMatcher> = None, glob;
    /// Experiments at which the device is lost.
    lost: Option<GlobMatcher> = None, glob;
    /// Experiments for which there is no memory.
    memory: Option<GlobMatcher> = None, glob;
    /// Experiments at whose samples the process is taken down.
    crash: Option<GlobMatcher> = None, glob;
    /// Experiments whose samples never end.
    hang: Option<GlobMatcher> = None, glob;
}

impl MockOptions {
    /// From `KEY=VALUE,...`, as it follows `mock:` on the command line.
    ///
    /// # Errors
    /// An unknown key or an unusable value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            options.set(key, value)?;
        }
        Ok(options)
    }

    /// What is known about the device that they simulate, which is one of several by its index.
    pub fn device_info(&self, index: usize) -> DeviceInfo {
        let mut info = DeviceInfo::mock();
        (info.index, info.kind) = (index, self.kind);
        info.device_uuid.0[15] = u8::try_from(index).unwrap_or(u8::MAX);
        info.queues.iter_mut().for_each(|family| family.timestamp_valid_bits = self.bits);
        let peak = Peak { rate: self.peak, is_hard: true, clock_mhz: None };
        // What mock devices simulate: all that kernels are bound by.
        let is_known = |bound: &Bound| self.peak > 0.0 && !matches!(bound, Bound::MatrixTf32 | Bound::MatrixF8);
        info.peaks = Bound::ALL.into_iter().filter(is_known).map(|bound| (bound, peak)).collect();
        let mut fault = |name: &'static str, what: &'static str, most_iterations, most_reductions| {
            let (name, what) = (name.into(), what.into());
            info.quirks.push(Quirk { name, what, link: "".into(), most_iterations, most_reductions });
        };
        if self.iterations > 0 {
            fault("mock-loop-cap", "the mock device was told to have a fault of loops", Some(self.iterations), None);
        }
        if let Some(can) = &self.can {
            // Its counters come with a clock that they show.
            let counters = [Feature::SubgroupClock, Feature::DeviceClock];
            let has = |feature: &&Feature| can.is_match(feature.vulkan_name()) && !counters.contains(feature);
            info.features.extend(Feature::ALL.iter().filter(has));
        }
        if self.core_mhz > 0.0 {
            info.features.extend([Feature::SubgroupClock, Feature::DeviceClock]);
        }
        if self.reductions > 0 {
            let what = "the mock device was told to have a fault of subgroup reductions and scans";
            fault("mock-reductions", what, None, Some(self.reductions));
            // What the device can't do can't go wrong.
            info.subgroup.in_compute = true;
            info.subgroup.classes.extend([SubgroupClass::Basic, SubgroupClass::Arithmetic]);
        }
        info
    }
}

fn number(least: f64, most: f64) -> impl Fn(&str, &str) -> Result<f64, Error> {
    move |key, text| {
        let value = text.parse().ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| Error::Usage(format!("mock:{key}={text}: a number from {least} to {most} is needed")))
    }
}

fn bits(key: &str, text: &str) -> Result<u32, Error> {
    let value = text.parse().ok().filter(|bits| *bits == 0 || (16..=64).contains(bits));
    value.ok_or_else(|| Error::Usage(format!("mock:{key}={text}: 0, or 16 to 64 is needed")))
}

fn count(key: &str, text: &str) -> Result<u64, Error> {
    text.parse().map_err(|_| Error::Usage(format!("mock:{key}={text}: a whole number is needed")))
}

fn kind(key: &str, text: &str) -> Result<DeviceKind, Error> {
    let kinds = || DeviceKind::ALL.map(DeviceKind::as_str).join(", ");
    DeviceKind::named(text).ok_or_else(|| Error::Usage(format!("mock:{key}={text}: one of {} is needed", kinds())))
}

fn glob(key: &str, text: &str) -> Result<Option<GlobMatcher>, Error> {
    let matcher = globs::matcher(text, |glob| glob);
    matcher.map(Some).map_err(|why| Error::Usage(format!("mock:{key}={}: {why}", globs::beginning(text))))
}

/// Says what a case's outputs must hold: what a right device would have written.
pub type Oracle = Box<dyn Fn(&Case) -> Vec<Vec<u8>>>;

pub struct Mock {
    info: DeviceInfo,
    options: MockOptions,
    oracle: Oracle,
    /// Simulated nanoseconds since the start.
    now: f64,
    rng: ChaCha8Rng,
    slots: Vec<Case>,
    detail: PipelineDetail,
    /// How much longer this process's passes take than another's.
    process: f64,
}

impl Mock {
    /// A mock whose noise is selected by the seed.
    pub fn new(options: MockOptions, seed: u64, oracle: Oracle) -> Self {
        let (info, rng) = (options.device_info(0), ChaCha8Rng::seed_from_u64(seed));
        Self { info, options, oracle, now: 0.0, rng, slots: Vec::new(), detail: PipelineDetail::None, process: 1.0 }
    }

    /// What loading a case tells of pipelines: the same of every kernel.
    #[must_use]
    pub fn with_detail(self, detail: PipelineDetail) -> Self {
        Self { detail, ..self }
    }

    /// The device as one of several processes sees it, which count from 1: other noise, and other times where processes differ.
    #[must_use]
    pub fn in_process(mut self, process: u32) -> Self {
        if process > 1 {
            let seed = self.rng.random::<u64>().wrapping_add(u64::from(process).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            self.rng = ChaCha8Rng::seed_from_u64(seed);
        }
        if self.options.process > 0.0 {
            self.process = 1.0 + self.options.process * self.normal();
        }
        self
    }

    /// Twelve uniform numbers sum up to nearly a normal one, alike on every platform.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
    }

    fn pass_ns(&self, case: &Case) -> f64 {
        if case.measurand == Measurand::CoreClock {
            return self.core_chain(core_clock::LONG).1;
        }
        let steps: f64 = case.pass.iter().map(step_ns).sum();
        let slow = if Self::is_meant(self.options.slow.as_ref(), case) { SLOW_FACTOR } else { 1.0 };
        let bytes = (1.0 + self.options.memory_drift * self.now * 1e-9) * self.spilled(case);
        slow * (steps + work_ns(case, bytes, self.core_level())) * self.process / self.options.speed * self.slowdown()
    }

    /// How many times as long a case's bytes take for those that its memory doesn't hold.
    #[expect(clippy::cast_precision_loss, reason = "a simulation")]
    fn spilled(&self, case: &Case) -> f64 {
        let all = case.footprint(&self.info).device;
        let beyond = if self.options.spill > 0 { all.saturating_sub(self.options.spill) } else { 0 };
        1.0 + (SPILLED_FACTOR - 1.0) * beyond as f64 / all.max(1) as f64
    }

    /// The core clock over its usual one.
    fn core_level(&self) -> f64 {
        let is_up = self.options.core_mhz > 0.0 && (self.now / CORE_PERIOD_NS).fract() >= 0.5;
        if is_up { CORE_STEP } else { 1.0 }
    }

    /// Cycles and nanoseconds of a chain of so many dependent steps.
    fn core_chain(&self, steps: u32) -> (f64, f64) {
        let cycles = CYCLES_PER_STEP * f64::from(steps);
        (cycles, cycles * 1e3 / (self.options.core_mhz * self.core_level()))
    }

    /// What the chains of calibration/core_clock leave of its counters.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "simulated time is small and positive")]
    fn core_counters(&self) -> Vec<u8> {
        let chains = [core_clock::SHORT, core_clock::LONG].map(|steps| self.core_chain(steps));
        let counters = chains.into_iter().flat_map(|(cycles, ns)| [0.0, 0.0, ns / self.info.timestamp_period, cycles]);
        counters.flat_map(|counter| (counter as u64).to_ne_bytes()).collect()
    }

    /// How many times as long a pass takes as at the start.
    fn slowdown(&self) -> f64 {
        1.0 + self.options.drift * self.now * 1e-9
    }

    /// One submission: each sample is `work` between two timestamps, after `before` outside them.
    fn simulate(&mut self, before: f64, work: f64, samples: u32) -> Submission {
        let spread = 1.0 + self.options.spread * self.normal();
        let started = self.now;
        self.advance(SUBMIT_NS);
        let mut stamps = Vec::new();
        for _ in 0..samples {
            self.advance(before);
            let start = self.ticks();
            let noise = 1.0 + self.options.noise * self.normal();
            self.advance((FLOOR_NS + work) * spread * noise);
            stamps.push((start, self.ticks()));
        }
        if self.options.bits == 0 {
            stamps.clear();
        }
        Submission { host: Duration::from_secs_f64((self.now - started) * 1e-9), samples: stamps, after: None }
    }

    fn fails(&self, matcher: Option<&GlobMatcher>, slot: CaseHandle) -> bool {
        Self::is_meant(matcher, &self.slots[slot.index()])
    }

    fn is_meant(matcher: Option<&GlobMatcher>, case: &Case) -> bool {
        matcher.is_some_and(|matcher| {
            let (name, point) = (&case.experiment, &case.point);
            matcher.is_match(name) || matcher.is_match(format!("{name} {point}"))
        })
    }

    /// Takes the process down, or never ends, where it was told so.
    fn misbehave(&self, slot: CaseHandle) {
        if self.fails(self.options.crash.as_ref(), slot) {
            std::process::abort();
        }
        while self.fails(self.options.hang.as_ref(), slot) {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn advance(&mut self, nanos: f64) -> Duration {
        self.now += nanos.max(0.0);
        Duration::from_secs_f64(nanos.max(0.0) * 1e-9)
    }

    /// The device's clock: it may run at another rate than the host's, and wraps at its valid bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "simulated time is small and positive")]
    fn ticks(&self) -> Ticks {
        let ticks = (self.now * self.options.clock) as u64;
        Ticks(if self.options.bits >= 64 { ticks } else { ticks & ((1 << self.options.bits) - 1) })
    }

    /// What it tells of any pipeline: one executable, as on most drivers. The names are this device's own.
    pub fn statistics(detail: PipelineDetail) -> PipelineStatistics {
        let statistics = [("Registers", 32), ("Spilled bytes", 0), ("Code bytes", 1024)];
        let statistics = statistics.map(|(name, value)| (name.to_owned(), StatValue::Unsigned(value))).into();
        let code = Representation {
            name: "Assembly".to_owned(),
            description: "What a device that isn't there would run".to_owned(),
            text: "nop\n".to_owned(),
        };
        let representations = if detail == PipelineDetail::Code { vec![code] } else { Vec::new() };
        let executable = Executable { name: "mock".to_owned(), subgroup_size: 32, statistics, representations };
        PipelineStatistics { executables: vec![executable] }
    }
}

fn step_ns(step: &Step) -> f64 {
    match step {
        Step::Dispatch { .. } | Step::DispatchIndirect { .. } => DISPATCH_NS,
        Step::Barrier | Step::Dependency(_) | Step::WaitEvent { .. } => BARRIER_NS,
        _ => 0.0,
    }
}

/// 1 TB/s, or so many times as long for its bytes, and 10 Top/s times the core's clock, and workgroups of 32 at least.
#[expect(clippy::cast_precision_loss, reason = "a simulation")]
fn work_ns(case: &Case, slower: f64, core: f64) -> f64 {
    let lanes: u32 = case.kernels.first().map_or(32, |kernel| kernel.local_size.iter().product());
    let idle = (32.0 / f64::from(lanes)).max(1.0);
    idle * (case.work.bytes.unwrap_or(0) as f64 / 1000.0 * slower + case.work.ops.unwrap_or(0) as f64 / 10_000.0 / core)
}

impl Dispatcher for Mock {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn tick_scale(&self) -> Option<TickScale> {
        (self.options.bits > 0).then_some(TickScale { valid_bits: self.options.bits, period: self.info.timestamp_period })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.now * 1e-9)
    }

    fn processor_time(&self) -> Option<ProcessorTime> {
        let share = self.options.contention;
        let ran = self.now();
        (share > 0.0).then(|| ProcessorTime::from_thread(ThreadTime { ran, waited: ran.mul_f64(share / (1.0 - share)) }))
    }

    fn taken_by_others(&mut self) -> Option<f64> {
        (self.options.others > 0.0).then_some(self.options.others)
    }

    fn state(&mut self) -> GpuState {
        let other = |share| vec![OtherProcess { name: "mock".to_owned(), share }];
        GpuState { others: self.taken_by_others().map(other), ..GpuState::default() }
    }

    fn rest(&mut self, time: Duration) {
        self.now += time.as_secs_f64() * 1e9;
    }

    fn core_clock_mhz(&self) -> Option<f64> {
        (self.options.mhz > 0.0).then(|| self.options.mhz / self.slowdown())
    }

    fn memory_budget(&self) -> Footprint {
        let bytes = self.info.local_heap_bytes();
        Footprint { device: bytes, host: bytes }
    }

    fn free_memory(&self) -> Option<u64> {
        self.info.local_heap()?.budget.map(|budget| budget.free)
    }

    fn footprint(&self, prepared: &Prepared) -> Footprint {
        prepared.case.resources.iter().map(|resource| resource.footprint(&self.info)).sum()
    }

    fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Failure> {
        let slot = CaseHandle::simulated(self.slots.len());
        self.slots.push(prepared.case.clone());
        if self.fails(self.options.memory.as_ref(), slot) {
            return Err(Failure::new(Status::OutOfMemory, "the mock device was told to have no memory"));
        }
        let all = || prepared.case.kernels.iter().map(|_| Self::statistics(self.detail)).collect();
        let statistics = (self.detail > PipelineDetail::None).then(all);
        let memory_types = String::new();
        Ok(Loaded { slot, pipeline_time: self.advance(1e6), statistics, memory_types })
    }

    fn run_reset(&mut self, _: CaseHandle) -> Result<(), Failure> {
        self.advance(SUBMIT_NS);
        Ok(())
    }

    fn run_checked(&mut self, slot: CaseHandle) -> Result<Duration, Failure> {
        if self.fails(self.options.lost.as_ref(), slot) {
            return Err(Failure::new(Status::DeviceLost, "the mock device was told to be lost"));
        }
        let nanos = SUBMIT_NS + self.pass_ns(&self.slots[slot.index()]);
        Ok(self.advance(nanos))
    }

    fn read(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Failure> {
        let case = &self.slots[slot.index()];
        if case.measurand == Measurand::CoreClock && resource == core_clock::COUNTERS {
            return Ok(self.core_counters());
        }
        let outputs = (self.oracle)(case);
        let place = case.check.outputs().iter().position(|output| *output == resource);
        let mut bytes = place.and_then(|place| outputs.into_iter().nth(place)).unwrap_or_default();
        if self.fails(self.options.wrong.as_ref(), slot) {
            bytes.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        }
        Ok(bytes)
    }

    fn sample_between(&mut self, wanted: Samples) -> Result<Submission, Failure> {
        let Samples { evictor, slot, batch, samples, then } = wanted;
        self.misbehave(slot);
        let case = &self.slots[slot.index()];
        let is_hosts = case.measurand.is_by_host();
        let has_pass = case.measurand.is_pass() || case.measurand == Measurand::CoreClock;
        let pass = if has_pass { self.pass_ns(case) * f64::from(batch) } else { 0.0 };
        let mut submission = match evictor.map(|evictor| self.pass_ns(&self.slots[evictor.index()])) {
            Some(before) => self.simulate(before, COLD_FACTOR * pass, samples),
            None => self.simulate(0.0, pass, samples),
        };
        if is_hosts {
            submission.samples.clear();
        }
        if let Some(then) = then {
            let work = self.pass_ns(&self.slots[then.index()]) * self.options.power;
            submission.after = self.simulate(0.0, work, 1).samples.first().copied();
        }
        Ok(submission)
    }

    fn unload(&mut self) {
        self.slots.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_refused_with_the_nearest() {
        let options = MockOptions::parse("noise=0.2,wrong=memory/*,bits=0").unwrap();
        assert_eq!((options.noise, options.bits), (0.2, 0));
        assert!(options.wrong.unwrap().is_match("memory/stream"));
        assert!(MockOptions::parse("noize=1").unwrap_err().to_string().contains("did you mean noise?"));
        assert!(MockOptions::parse("noise=x").is_err());
        assert!(MockOptions::parse("bits=3").is_err());
        assert!(MockOptions::parse("kind=disc").unwrap_err().to_string().ends_with("virtual, cpu, other is needed"));
    }
}
