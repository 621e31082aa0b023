//! A block of cases from loading to outcome.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::entry::Entry;
use super::flags;
use super::instrument;
use super::pair::{Pair, PairError};
use super::rig::Rig;
use super::stop::{self, LAST_ROUND, Progress};
use super::visit::{Loading, Visit};
use super::{Dispatcher, Instrument, Measured, Timer};
use crate::gpu::{Loaded, Slot};
use crate::model::{Case, Failure, Status};
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

/// How often a visit is repeated at most, when clocks were down or others took the processor.
const REPEATS: u32 = 2;

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

/// A case to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Job<'c> {
    /// The case.
    pub case: &'c Prepared,
    /// What it is measured alternately with: on the session's other device where it has one, else on its own.
    pub base: Option<&'c Prepared>,
}

/// How a case ended.
pub type Outcome = Result<Measured, Failure>;

/// What happens meanwhile, for whoever shows progress.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A case is compiled by the driver and checked.
    Loading(&'a Case),
    /// A case is timed.
    Timing(&'a Case, u32),
    /// A case has an outcome.
    Ended(&'a Case),
}

/// Compares the outputs of a case with what they must hold: the job's own case or its base, the job being that with this index.
pub type Check<'a> = dyn FnMut(usize, &Case, &[Vec<u8>]) -> Verdict + 'a;

/// One device, calibrated, ready to measure blocks of cases.
pub struct Session<'a> {
    pub(super) rig: Rig<'a>,
    /// The device on which the bases of pairs run, where it isn't the same.
    pub(super) base_rig: Option<Rig<'a>>,
    /// Why that device can't be paired with any more.
    pub(super) base_failure: Option<Failure>,
    pub(super) options: Options,
    pub(super) rng: ChaCha8Rng,
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

impl<'a> Session<'a> {
    /// Calibrates a device.
    ///
    /// # Errors
    /// What the device refused.
    pub fn new(device: &'a mut dyn Dispatcher, tools: ToolCases, options: Options) -> Result<Self, Failure> {
        let rig = Rig::calibrate(device, tools, options.warm_up)?;
        Ok(Self { rig, base_rig: None, base_failure: None, options, rng: ChaCha8Rng::seed_from_u64(options.seed) })
    }

    /// The same session, the bases of pairs being run on another device, whose clocks take so long to rise. Calibrates that one as
    /// well. Where it can't be paired with, cases are measured alone, and say so.
    #[must_use]
    pub fn with_base(mut self, device: &'a mut dyn Dispatcher, tools: ToolCases, warm_up: Duration) -> Self {
        match Rig::calibrate(device, tools, warm_up) {
            Ok(rig) => {
                let timers = [&self.rig, &rig].map(|rig| rig.instrument.timer.as_str());
                if timers[0] != timers[1] {
                    let reason = format!("times by the {}'s and by the {}'s clock can't be compared", timers[0], timers[1]);
                    self.base_failure = Some(Failure::new(Status::Error, reason));
                }
                self.base_rig = Some(rig);
            }
            Err(failure) => self.base_failure = Some(failure),
        }
        self
    }

    /// What is known about the instrument.
    pub fn instrument(&self) -> &Instrument {
        &self.rig.instrument
    }

    /// Measures the cases as one block, or as several where they don't fit the device's memory at one time. One outcome each,
    /// in their order.
    pub fn measure(&mut self, jobs: &[Job], check: &mut Check, observe: &mut dyn FnMut(Event)) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(jobs.len());
        while outcomes.len() < jobs.len() {
            let first = outcomes.len();
            outcomes.extend(self.measure_what_fits(&jobs[first..], first, check, observe));
            self.rig.device.unload();
            self.base_rig.iter_mut().for_each(|rig| rig.device.unload());
        }
        outcomes
    }

    /// Measures as many of the cases as memory holds at one time, at least one.
    fn measure_what_fits(
        &mut self,
        jobs: &[Job],
        first: usize,
        check: &mut Check,
        observe: &mut dyn FnMut(Event),
    ) -> Vec<Outcome> {
        if let Err(failure) = self.load_tools() {
            return jobs.iter().map(|_| Err(failure.clone())).collect();
        }
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut bytes_left = self.memory_left();
        for (index, job) in (first..).zip(jobs) {
            let bytes = self.bytes_to_load(job);
            let is_too_much = bytes.iter().zip(&bytes_left).any(|(bytes, left)| bytes > left);
            if is_too_much && !outcomes.is_empty() {
                break;
            }
            bytes_left.iter_mut().zip(bytes).for_each(|(left, bytes)| *left = left.saturating_sub(bytes));
            observe(Event::Loading(&job.case.case));
            match self.load(job, index, &entries, check) {
                Ok(entry) => {
                    entries.push(entry);
                    outcomes.push(None);
                }
                // The others may have taken what it needs: it gets a second try as the first of the next block.
                Err(failure) if failure.status == Status::OutOfMemory && !entries.is_empty() => break,
                Err(failure) => {
                    observe(Event::Ended(&job.case.case));
                    outcomes.push(Some(Err(failure)));
                }
            }
        }
        self.time(&mut entries, check, observe);
        for entry in entries {
            let place = entry.index - first;
            outcomes[place] = Some(self.outcome(entry));
        }
        outcomes.into_iter().flatten().collect()
    }

    fn load_tools(&mut self) -> Result<(), Failure> {
        self.rig.load_tools()?;
        if let (Some(rig), None) = (&mut self.base_rig, &self.base_failure) {
            self.base_failure = rig.load_tools().err();
        }
        Ok(())
    }

    /// Bytes that cases may take, on the device and on that of the bases.
    fn memory_left(&self) -> [u64; 2] {
        let own = self.rig.device.memory_budget();
        match &self.base_rig {
            // One device twice: each knows of all its memory.
            Some(rig) if rig.device.info().device_uuid == self.rig.device.info().device_uuid => [own / 2; 2],
            Some(rig) => [own, rig.device.memory_budget()],
            None => [own, u64::MAX],
        }
    }

    /// Bytes that loading a job would add to what is loaded, on the device and on that of the bases.
    fn bytes_to_load(&self, job: &Job) -> [u64; 2] {
        let own = self.rig.device.bytes_to_load(job.case);
        match (job.base, &self.base_rig) {
            (Some(base), Some(rig)) => [own, rig.device.bytes_to_load(base)],
            (Some(base), None) => [own + self.rig.device.bytes_to_load(base), 0],
            (None, _) => [own, 0],
        }
    }

    /// Loads a case and the base of its pair.
    fn load<'c>(&mut self, job: &Job<'c>, index: usize, loaded: &[Entry<'c>], check: &mut Check) -> Result<Entry<'c>, Failure> {
        let mut check = |case: &Case, outputs: &[Vec<u8>]| check(index, case, outputs);
        let (own, pipeline_time) = load(&mut self.rig, job.case, &mut check)?;
        let (mut pair, mut unpaired) = (None, None);
        if let Some(base) = job.base {
            // Many cases of a block have the same base.
            let known =
                loaded.iter().filter_map(|entry| entry.pair.as_ref()).find(|pair| std::ptr::eq(pair.base().prepared, base));
            let slot = known.map(|known| Ok(known.base().slot)).unwrap_or_else(|| self.load_base(base, &mut check));
            match slot {
                Ok(slot) => pair = Some(Pair::new(base, slot)),
                // It may fit without the others.
                Err(failure) if failure.status == Status::OutOfMemory && !loaded.is_empty() => return Err(failure),
                Err(failure) => unpaired = Some(failure),
            }
        }
        Ok(Entry {
            loading: Loading::new(job.case, own.slot),
            index,
            pair,
            unpaired,
            pipeline_time,
            statistics: own.statistics,
            overhead: None,
            visits: Vec::new(),
            conditions: Vec::new(),
            noise: Vec::new(),
            spent: Duration::ZERO,
            ended: None,
        })
    }

    /// Loads a base where bases run.
    fn load_base(&mut self, base: &Prepared, check: &mut CheckCase) -> Result<Slot, Failure> {
        if let Some(failure) = &self.base_failure {
            return Err(failure.clone());
        }
        let loaded = load(self.base_rig.as_mut().unwrap_or(&mut self.rig), base, check);
        loaded.map(|(loaded, _)| loaded.slot)
    }

    /// Times all entries in rounds until each has ended.
    fn time(&mut self, entries: &mut [Entry], check: &mut Check, observe: &mut dyn FnMut(Event)) {
        let mut bases: Vec<Loading> = Vec::new();
        for entry in entries.iter_mut() {
            let sized = self.choose_sizes(entry, &mut bases);
            end_on_failure(entry, sized, observe);
        }
        let mut empty_passes = EmptyPasses::default();
        for round in 1..=LAST_ROUND {
            let mut order: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].ended.is_none()).collect();
            if order.is_empty() {
                break;
            }
            order.shuffle(&mut self.rng);
            let started = self.rig.device.now();
            for i in order {
                let entry = &mut entries[i];
                observe(Event::Timing(entry.case(), round));
                let visited = self.visit(entry);
                end_on_failure(entry, visited, observe);
            }
            let kept = self.visit_empty_passes(entries, &mut empty_passes).and_then(|()| self.keep_busy(started + ROUND_SPAN));
            if let Err(failure) = kept {
                // Whose figures would stand without what they are judged by: a device that fails here has failed them all.
                for entry in entries.iter_mut().filter(|entry| entry.ended.is_none()) {
                    end_on_failure(entry, Err(failure.clone()), observe);
                }
            }
            if stop::is_judged(round) {
                entries.iter_mut().for_each(|entry| self.judge(entry, round, check, observe));
            }
        }
        for entry in entries.iter_mut().filter(|entry| dispatches(entry.case())) {
            entry.overhead = empty_passes.get(&entry.loading.batch).map(|medians| Nanos(stats::median(medians)));
        }
    }

    /// Chooses the sizes of an entry, and of its base unless that is among those whose sizes were chosen before.
    fn choose_sizes<'c>(&mut self, entry: &mut Entry<'c>, bases: &mut Vec<Loading<'c>>) -> Result<(), Failure> {
        let max_time = self.options.max_time;
        self.rig.choose_sizes(&mut entry.loading, max_time)?;
        let Some(pair) = &mut entry.pair else { return Ok(()) };
        if pair.size_like(bases) {
            return Ok(());
        }
        match &mut self.base_rig {
            Some(rig) => {
                if let Err(failure) = pair.choose_sizes(rig, max_time) {
                    self.part_from_base(entry, failure);
                    return Ok(());
                }
            }
            None => pair.choose_sizes(&mut self.rig, max_time)?,
        }
        bases.push(*pair.base());
        Ok(())
    }

    /// Goes on without the base of a pair, whose device failed: the case's own device didn't.
    fn part_from_base(&mut self, entry: &mut Entry, failure: Failure) {
        entry.pair = None;
        entry.unpaired = Some(failure.clone());
        // What was sampled in alternation doesn't go with what follows.
        entry.visits.clear();
        entry.conditions.clear();
        entry.noise.clear();
        self.base_failure = Some(failure);
    }

    /// Keeps the devices busy until then, so that both have their clocks up in the next round.
    fn keep_busy(&mut self, until: Duration) -> Result<(), Failure> {
        let step = Duration::from_millis(1);
        while self.rig.device.now() < until {
            let now = self.rig.device.now();
            self.rig.keep_busy(until.min(now + step))?;
            if let (Some(rig), None) = (&mut self.base_rig, &self.base_failure) {
                let now = rig.device.now();
                self.base_failure = rig.keep_busy(now + step).err();
            }
        }
        Ok(())
    }

    /// Visits an entry, and again where clocks were down or others took the processor, as long as its time allows.
    fn visit(&mut self, entry: &mut Entry) -> Result<(), Failure> {
        self.rig.warm_up_if_idle()?;
        if let (Some(rig), Some(_), None) = (&mut self.base_rig, &entry.pair, &self.base_failure) {
            self.base_failure = rig.warm_up_if_idle().err();
        }
        let started = self.rig.device.now();
        let mut repeats_left = REPEATS;
        loop {
            if let (Some(failure), Some(_), Some(_)) = (&self.base_failure, &self.base_rig, &entry.pair) {
                let failure = failure.clone();
                self.part_from_base(entry, failure);
            }
            let visit_started = self.rig.device.now();
            let before = self.rig.begin();
            let visit = match self.visit_once(entry) {
                Ok(visit) => visit,
                Err(PairError::Own(failure)) => return Err(failure),
                // The next try is without it, and is no repeat.
                Err(PairError::Base(failure)) => {
                    self.base_failure = Some(failure);
                    continue;
                }
            };
            let conditions = self.rig.conditions_since(&before)?;
            let is_steady = flags::is_steady(&conditions) && visit.base_conditions.as_ref().is_none_or(flags::is_steady);
            let now = self.rig.device.now();
            let more = now.saturating_sub(visit_started) + flags::recovery(&conditions, self.rig.warm_up_time());
            let may_repeat = repeats_left > 0 && entry.spent + now.saturating_sub(started) + more < self.options.max_time;
            if is_steady || !may_repeat || !entry.is_pass() {
                entry.visits.push(visit);
                entry.conditions.push(conditions);
                break;
            }
            repeats_left -= 1;
            if flags::recovery(&conditions, self.rig.warm_up_time()) > Duration::ZERO {
                self.rig.warm_up()?;
            }
        }
        entry.spent += self.rig.device.now().saturating_sub(started);
        Ok(())
    }

    fn visit_once(&mut self, entry: &Entry) -> Result<Visit, PairError> {
        let Self { rig, base_rig, options, .. } = self;
        match (&entry.pair, base_rig) {
            (Some(pair), Some(base_rig)) => pair.visit_across(rig, base_rig, &entry.loading),
            (Some(pair), None) => pair.visit(rig, &entry.loading),
            (None, _) => rig.visit(&entry.loading, options.max_time).map_err(PairError::Own),
        }
    }

    /// The time of an empty pass, in each batch size that is in use, visited in each round as the cases are.
    fn visit_empty_passes(&mut self, entries: &[Entry], empty_passes: &mut EmptyPasses) -> Result<(), Failure> {
        let active = entries.iter().filter(|entry| entry.ended.is_none() && dispatches(entry.case()));
        let batches: BTreeSet<u32> = active.map(|entry| entry.loading.batch).collect();
        let (empty, timer) = (self.rig.tools().empty, self.rig.instrument.timer);
        for batch in batches {
            let times = instrument::repeat(self.rig.device, empty, timer, batch, EMPTY_SAMPLES)?;
            empty_passes.entry(batch).or_default().push(stats::median(&times) / f64::from(batch));
        }
        self.rig.was_busy();
        Ok(())
    }

    /// Decides whether an entry leaves, and checks the results of one that does.
    fn judge(&mut self, entry: &mut Entry, round: u32, check: &mut Check, observe: &mut dyn FnMut(Event)) {
        if entry.ended.is_some() {
            return;
        }
        entry.noise.push(entry.noise_now());
        let progress = Progress {
            round,
            noise: &entry.noise,
            max_noise: self.options.max_noise,
            spent: entry.spent,
            max_time: self.options.max_time,
        };
        if let Some(reason) = stop::judge(&progress) {
            entry.ended = Some(self.check_batch(entry, check).map(|()| reason));
            observe(Event::Ended(entry.case()));
        }
    }

    /// Runs one more sample, exactly in the timed form, and compares what it leaves behind. Other cases may share the entry's
    /// outputs, so what its last timed sample left is gone by now; the poison of the reset makes sure that this one wrote it.
    fn check_batch(&mut self, entry: &Entry, check: &mut Check) -> Result<(), Failure> {
        if entry.case().check.outputs().is_empty() {
            return Ok(());
        }
        let Loading { slot, batch, .. } = entry.loading;
        self.rig.device.run_reset(slot)?;
        self.rig.take(slot, batch, 1)?;
        let mut check = |case: &Case, outputs: &[Vec<u8>]| check(entry.index, case, outputs);
        compare(self.rig.device, &entry.loading, &mut check, "after a timed batch")
    }
}

/// Compares the outputs of a case.
type CheckCase<'a> = dyn FnMut(&Case, &[Vec<u8>]) -> Verdict + 'a;

/// Loads a case, runs one pass after a reset, and compares the results. Only what is right is timed at all. Gives the time that
/// its pipelines and its first dispatch took as well.
fn load(rig: &mut Rig, prepared: &Prepared, check: &mut CheckCase) -> Result<(Loaded, Duration), Failure> {
    if !prepared.case.repeatable && rig.instrument.timer == Timer::Host {
        let reason = "it needs the device's timestamps: the host's clock can't leave out the reset before each sample";
        return Err(Failure::new(Status::Skipped, reason));
    }
    let loaded = rig.device.load(prepared)?;
    let first_pass = rig.device.run_checked(loaded.slot)?;
    compare(rig.device, &Loading::new(prepared, loaded.slot), check, "after one pass")?;
    let pipeline_time = loaded.pipeline_time + first_pass;
    Ok((loaded, pipeline_time))
}

fn compare(device: &mut dyn Dispatcher, loading: &Loading, check: &mut CheckCase, when: &str) -> Result<(), Failure> {
    let case = &loading.prepared.case;
    let outputs = case.check.outputs();
    if outputs.is_empty() {
        return Ok(());
    }
    let bytes = outputs.iter().map(|&output| device.read(loading.slot, output)).collect::<Result<Vec<_>, _>>()?;
    match check(case, &bytes) {
        Verdict::Right => Ok(()),
        Verdict::Wrong(mismatch) => Err(Failure::new(Status::WrongResult, format!("{when}: {mismatch}"))),
    }
}

/// Whether a case launches anything: only then does an empty launch say something about it.
fn dispatches(case: &Case) -> bool {
    !case.kernels.is_empty()
}

fn end_on_failure(entry: &mut Entry, result: Result<(), Failure>, observe: &mut dyn FnMut(Event)) {
    if let Err(failure) = result {
        entry.ended = Some(Err(failure));
        observe(Event::Ended(entry.case()));
    }
}
