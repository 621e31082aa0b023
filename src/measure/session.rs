//! A block of cases from loading to outcome.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::flags::{Pass, Subject, flags};
use super::instrument;
use super::stop::{self, LAST_ROUND, Progress, Stop};
use super::visit::no_timestamps;
use super::{Dispatcher, Instrument, Measured, Timer, Tools, noise};
use crate::gpu::Slot;
use crate::model::{Case, Failure, Measurand, PipelineStatistics, Status, Work};
use crate::shader::Prepared;
use crate::stats;
use crate::units::Nanos;
use crate::validate::Verdict;

/// The most cases in a block: more would spread one case's rounds over minutes, with other clocks at each end.
pub const BLOCK_CASES: usize = 64;

/// The least that a round lasts. A block of few short cases would end its rounds within milliseconds, and never see how the
/// device changes from one moment to another.
const ROUND_SPAN: Duration = Duration::from_millis(50);

/// Samples of an empty pass in a round.
const EMPTY_SAMPLES: u32 = 5;

/// Of each batch size, the medians of an empty pass in the rounds so far.
type EmptyPasses = HashMap<u32, Vec<f64>>;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The noise that is precise enough.
    pub max_noise: f64,
    /// The time that may be spent on timing one case.
    pub max_time: Duration,
    /// How long the device is kept busy before it is believed to run at its clocks.
    pub warm_up: Duration,
    /// Selects the order of visits.
    pub seed: u64,
}

/// How a case ended.
pub type Outcome = Result<Measured, Failure>;

/// What happens meanwhile, for whoever shows progress.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A case is compiled by the driver and checked.
    Loading(&'a Case),
    /// A case is timed.
    Timing(&'a Case, u32),
    /// A case has an outcome.
    Ended(&'a Case),
}

/// Compares the outputs of the case with this index in the block with what they must hold.
pub type Check<'a> = dyn FnMut(usize, &[Vec<u8>]) -> Verdict + 'a;

/// One device, calibrated, ready to measure blocks of cases.
pub struct Session<'a> {
    pub(super) device: &'a mut dyn Dispatcher,
    pub(super) tools: ToolCases,
    pub(super) options: Options,
    pub(super) instrument: Instrument,
    pub(super) rng: ChaCha8Rng,
    pub(super) last_busy: Duration,
}

/// The cases that the instrument needs, compiled.
#[derive(Clone, Debug)]
pub struct ToolCases {
    /// One workgroup that does nothing.
    pub empty: Prepared,
    /// A fixed amount of arithmetic.
    pub sentinel: Prepared,
    /// In cold mode, what runs before every sample of a pass.
    pub evictor: Option<Prepared>,
}

/// A case of a block, on its way to an outcome.
pub(super) struct Entry<'c> {
    pub(super) prepared: &'c Prepared,
    /// Its place in the block.
    pub(super) index: usize,
    pub(super) slot: Slot,
    pub(super) pipeline_time: Duration,
    pub(super) statistics: Option<Vec<PipelineStatistics>>,
    pub(super) batch: u32,
    pub(super) samples: u32,
    /// Samples that one submission may hold.
    pub(super) samples_at_once: u32,
    pub(super) overhead: Option<Nanos>,
    pub(super) rounds: Vec<Vec<f64>>,
    pub(super) host_times: Vec<f64>,
    pub(super) noise: Vec<f64>,
    pub(super) spent: Duration,
    pub(super) ended: Option<Result<Stop, Failure>>,
}

impl<'a> Session<'a> {
    /// Calibrates a device.
    ///
    /// # Errors
    /// What the device refused.
    pub fn new(device: &'a mut dyn Dispatcher, tools: ToolCases, options: Options) -> Result<Self, Failure> {
        let loaded = load_tools(device, &tools)?;
        let instrument = Instrument::calibrate(device, loaded);
        device.unload();
        let instrument = instrument?;
        if loaded.evictor.is_some() && instrument.timer == Timer::Host {
            let why = instrument.note.as_deref().unwrap_or_default();
            return Err(Failure::new(Status::Error, format!("cold mode needs the device's timestamps ({why})")));
        }
        let last_busy = device.now();
        let rng = ChaCha8Rng::seed_from_u64(options.seed);
        Ok(Self { device, tools, options, instrument, rng, last_busy })
    }

    /// What is known about the instrument.
    pub fn instrument(&self) -> &Instrument {
        &self.instrument
    }

    /// Measures the cases as one block, or as several where they don't fit the device's memory at one time. One outcome each,
    /// in their order.
    pub fn measure(&mut self, cases: &[Prepared], check: &mut Check, observe: &mut dyn FnMut(Event)) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(cases.len());
        while outcomes.len() < cases.len() {
            let first = outcomes.len();
            outcomes.extend(self.measure_what_fits(&cases[first..], first, check, observe));
            self.device.unload();
        }
        outcomes
    }

    /// Measures as many of the cases as memory holds at one time, at least one.
    fn measure_what_fits(
        &mut self,
        cases: &[Prepared],
        first: usize,
        check: &mut Check,
        observe: &mut dyn FnMut(Event),
    ) -> Vec<Outcome> {
        let tools = match load_tools(self.device, &self.tools) {
            Ok(tools) => tools,
            Err(failure) => return cases.iter().map(|_| Err(failure.clone())).collect(),
        };
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        let mut entries = Vec::new();
        let mut bytes_left = self.device.memory_budget();
        for (index, prepared) in (first..).zip(cases) {
            let bytes = self.device.bytes_to_load(prepared);
            if bytes > bytes_left && !outcomes.is_empty() {
                break;
            }
            bytes_left = bytes_left.saturating_sub(bytes);
            observe(Event::Loading(&prepared.case));
            match self.load(prepared, index, check) {
                Ok(entry) => {
                    entries.push(entry);
                    outcomes.push(None);
                }
                // The others may have taken what it needs: it gets a second try as the first of the next block.
                Err(failure) if failure.status == Status::OutOfMemory && !entries.is_empty() => break,
                Err(failure) => {
                    observe(Event::Ended(&prepared.case));
                    outcomes.push(Some(Err(failure)));
                }
            }
        }
        self.time(&mut entries, tools, check, observe);
        for entry in entries {
            let place = entry.index - first;
            outcomes[place] = Some(self.outcome(entry));
        }
        outcomes.into_iter().flatten().collect()
    }

    /// Loads a case, runs one pass after a reset, and compares the results. Only what is right is timed at all.
    fn load<'c>(&mut self, prepared: &'c Prepared, index: usize, check: &mut Check) -> Result<Entry<'c>, Failure> {
        if !prepared.case.repeatable && self.instrument.timer == Timer::Host {
            let reason = "it needs the device's timestamps: the host's clock can't leave out the reset before each sample";
            return Err(Failure::new(Status::Skipped, reason));
        }
        let loaded = self.device.load(prepared)?;
        let first_pass = self.device.run_checked(loaded.slot)?;
        self.compare(prepared, index, loaded.slot, check, "after one pass")?;
        Ok(Entry {
            prepared,
            index,
            slot: loaded.slot,
            pipeline_time: loaded.pipeline_time + first_pass,
            statistics: loaded.statistics,
            batch: 1,
            samples: 1,
            samples_at_once: 1,
            overhead: None,
            rounds: Vec::new(),
            host_times: Vec::new(),
            noise: Vec::new(),
            spent: Duration::ZERO,
            ended: None,
        })
    }

    fn compare(&mut self, prepared: &Prepared, index: usize, slot: Slot, check: &mut Check, when: &str) -> Result<(), Failure> {
        let outputs = prepared.case.check.outputs();
        if outputs.is_empty() {
            return Ok(());
        }
        let bytes = outputs.iter().map(|&output| self.device.read(slot, output)).collect::<Result<Vec<_>, _>>()?;
        match check(index, &bytes) {
            Verdict::Right => Ok(()),
            Verdict::Wrong(mismatch) => Err(Failure::new(Status::WrongResult, format!("{when}: {mismatch}"))),
        }
    }

    /// Times all entries in rounds until each has ended.
    fn time(&mut self, entries: &mut [Entry], tools: Tools, check: &mut Check, observe: &mut dyn FnMut(Event)) {
        for entry in entries.iter_mut() {
            let sized = self.warm_up_if_idle(tools).and_then(|()| self.choose_sizes(entry, tools));
            end_on_failure(entry, sized, observe);
        }
        let mut empty_passes = EmptyPasses::default();
        for round in 1..=LAST_ROUND {
            let mut order: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].ended.is_none()).collect();
            if order.is_empty() {
                break;
            }
            order.shuffle(&mut self.rng);
            let started = self.device.now();
            for i in order {
                let entry = &mut entries[i];
                observe(Event::Timing(&entry.prepared.case, round));
                let visited = self.warm_up_if_idle(tools).and_then(|()| self.visit(entry, tools));
                end_on_failure(entry, visited, observe);
            }
            let kept = self
                .visit_empty_passes(entries, tools, &mut empty_passes)
                .and_then(|()| self.keep_busy(tools, started + ROUND_SPAN));
            if let Err(failure) = kept {
                // Whose figures would stand without what they are judged by: a device that fails here has failed them all.
                for entry in entries.iter_mut().filter(|entry| entry.ended.is_none()) {
                    end_on_failure(entry, Err(failure.clone()), observe);
                }
            }
            if stop::is_judged(round) {
                entries.iter_mut().for_each(|entry| self.judge(entry, tools, round, check, observe));
            }
        }
        for entry in entries.iter_mut().filter(|entry| dispatches(&entry.prepared.case)) {
            entry.overhead = empty_passes.get(&entry.batch).map(|medians| Nanos(stats::median(medians)));
        }
    }

    /// The time of an empty pass, in each batch size that is in use, visited in each round as the cases are.
    fn visit_empty_passes(&mut self, entries: &[Entry], tools: Tools, empty_passes: &mut EmptyPasses) -> Result<(), Failure> {
        let active = entries.iter().filter(|entry| entry.ended.is_none() && dispatches(&entry.prepared.case));
        let batches: BTreeSet<u32> = active.map(|entry| entry.batch).collect();
        for batch in batches {
            let times = instrument::repeat(self.device, tools.empty, self.instrument.timer, batch, EMPTY_SAMPLES)?;
            empty_passes.entry(batch).or_default().push(stats::median(&times) / f64::from(batch));
        }
        self.last_busy = self.device.now();
        Ok(())
    }

    /// Decides whether an entry leaves, and checks the results of one that does.
    fn judge(&mut self, entry: &mut Entry, tools: Tools, round: u32, check: &mut Check, observe: &mut dyn FnMut(Event)) {
        if entry.ended.is_some() {
            return;
        }
        entry.noise.push(noise(&entry.rounds));
        let progress = Progress {
            round,
            noise: &entry.noise,
            max_noise: self.options.max_noise,
            spent: entry.spent,
            max_time: self.options.max_time,
        };
        if let Some(reason) = stop::judge(&progress) {
            entry.ended = Some(self.check_batch(entry, tools, check).map(|()| reason));
            observe(Event::Ended(&entry.prepared.case));
        }
    }

    /// Runs one more sample, exactly in the timed form, and compares what it leaves behind. Other cases may share the entry's
    /// outputs, so what its last timed sample left is gone by now; the poison of the reset makes sure that this one wrote it.
    fn check_batch(&mut self, entry: &Entry, tools: Tools, check: &mut Check) -> Result<(), Failure> {
        if entry.prepared.case.check.outputs().is_empty() {
            return Ok(());
        }
        self.device.run_reset(entry.slot)?;
        self.take(entry, tools, 1)?;
        self.compare(entry.prepared, entry.index, entry.slot, check, "after a timed batch")
    }

    fn outcome(&self, entry: Entry) -> Outcome {
        let stop = entry.ended.clone().unwrap_or(Ok(Stop::Budget))?;
        let measurand = entry.prepared.case.measurand;
        let does_work = entry.prepared.case.work != Work::default();
        let subject = Subject {
            noise: entry.noise.last().copied().unwrap_or(f64::INFINITY),
            max_noise: self.options.max_noise,
            pass: (measurand == Measurand::Pass).then(|| Pass {
                time: stats::median(&super::round_medians(&entry.rounds)),
                batch: entry.batch,
                floor: self.instrument.floor.0,
                empty_pass: entry.overhead.filter(|_| does_work).map(|Nanos(time)| time),
            }),
        };
        Ok(Measured {
            batch: entry.batch,
            timer: self.timer_of(measurand)?,
            stop,
            overhead: entry.overhead,
            host_time: Nanos(if entry.host_times.is_empty() { 0.0 } else { stats::median(&entry.host_times) }),
            pipeline_time: entry.pipeline_time,
            statistics: entry.statistics,
            flags: flags(&subject),
            rounds: entry.rounds,
        })
    }

    /// What a measurand is timed by: the device's timestamps themselves are read even where they are not believed.
    fn timer_of(&self, measurand: Measurand) -> Result<Timer, Failure> {
        match measurand {
            Measurand::Pass => Ok(self.instrument.timer),
            _ => self.device.tick_scale().map(Timer::Device).ok_or_else(no_timestamps),
        }
    }
}

fn load_tools(device: &mut dyn Dispatcher, tools: &ToolCases) -> Result<Tools, Failure> {
    let empty = device.load(&tools.empty)?.slot;
    let sentinel = device.load(&tools.sentinel)?.slot;
    let evictor = tools.evictor.as_ref().map(|evictor| device.load(evictor)).transpose()?.map(|loaded| loaded.slot);
    // The first dispatch, in which some drivers compile.
    device.run_checked(empty)?;
    device.run_checked(sentinel)?;
    if let Some(evictor) = evictor {
        device.run_checked(evictor)?;
    }
    Ok(Tools { empty, sentinel, evictor })
}

/// Whether a case launches anything: only then does an empty launch say something about it.
fn dispatches(case: &Case) -> bool {
    !case.kernels.is_empty()
}

fn end_on_failure(entry: &mut Entry, result: Result<(), Failure>, observe: &mut dyn FnMut(Event)) {
    if let Err(failure) = result {
        entry.ended = Some(Err(failure));
        observe(Event::Ended(&entry.prepared.case));
    }
}
