//! A bench whose device this process owns.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use super::batch::{constant, is_differenced};
use super::bench::{
    Answer, Answering, Bench, Call, CaseKey, CaseSource, Compared, Job, Loaded, Loading, Look, Loss, Order, OutputCheck,
    ShaderFacts, SourcedCase, Visited, Watch,
};
use super::flags;
use super::pair::visit_pair;
use super::rig::{Before, Conditions, Rig};
use super::visit::{SampledCase, Sizes, Sizing, Visit};
use super::{Dispatcher, Instrument, Timer, ToolCases, instrument};
use crate::digest::{Fingerprint, fingerprint};
use crate::gpu::CaseHandle;
use crate::model::{Cache, Case, DeviceInfo, Failure, Footprint, Measurand, POISON, Repeat, Skip, Stage, Status, Step};
use crate::shader::Prepared;
use crate::stats;
use crate::units::Nanos;
use crate::validate::{Learned, Outputs};

/// The least that a round lasts, or the time that a case may take where that is shorter. A block of few short cases would end its
/// rounds within milliseconds, and never see how the device changes from one moment to another.
const ROUND_SPAN: Duration = Duration::from_millis(50);

const EMPTY_SAMPLES: u32 = 5;

/// How long the load lasts between two looks at the clocks, from the first ones on.
const SHORTEST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// How often a visit is repeated at most, when clocks were down or others took the processor.
pub(super) const REPEATS: u32 = 2;

/// How a device is calibrated and cases are sized.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    /// How long the device is kept busy before it is believed to run at its clocks.
    pub warm_up: Duration,
    pub max_time: Duration,
    /// Where times come from, if another bench of the same device has found that out.
    pub timer: Option<Timer>,
    /// The sentinel's time that clocks relate to, if the plan has one already.
    pub sentinel: Option<Nanos>,
    /// Whether caches are evicted before the samples of all cases, which needs the device's timestamps.
    pub is_cold: bool,
}

pub struct LocalBench<'a> {
    pub(super) rig: Rig<'a>,
    pub(super) source: Box<dyn CaseSource + 'a>,
    max_time: Duration,
    /// By place; nothing where a case failed.
    cases: Vec<Option<LoadedCase>>,
    bases: Vec<LoadedBase>,
    has_tools: bool,
    fastest: Option<Duration>,
    pub(super) foreseen: HashMap<CaseKey, Result<SourcedCase, Failure>>,
    room: Footprint,
    round_started: Duration,
    /// A visit whose samples are ordered one by one.
    begun: (Duration, Before),
    learned: Learned,
}

struct LoadedCase {
    subject: SampledCase,
    judge: Box<OutputCheck>,
    /// What stands for the results that were found right last, and what there is to say of them.
    right: Option<(Fingerprint, Compared)>,
    base: Option<usize>,
}

/// Many cases have the same base.
struct LoadedBase {
    key: CaseKey,
    subject: SampledCase,
    is_sized: bool,
}

/// The bytes of a case's outputs.
type Contents = Vec<Vec<u8>>;

enum Refusal {
    /// It doesn't fit beside the others, but may alone.
    Full,
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl LoadedCase {
    /// Compares what it left behind with what that must be, unless it is byte by byte what was found right before: twins of large cases
    /// take longer than the cases.
    fn compare(&mut self, outputs: Outputs, when: &str) -> Result<Compared, Failure> {
        if outputs.bytes.is_empty() {
            return Ok(Compared::default());
        }
        let found = fingerprint(&outputs.bytes);
        if let Some((_, compared)) = self.right.as_ref().filter(|(right, _)| *right == found) {
            return Ok(compared.clone());
        }
        let judged = (self.judge)(&self.subject.prepared.case, outputs)?;
        let failed = |mismatch| Failure::new(Status::WrongResult, format!("{when}: {mismatch}")).at(Stage::Checking);
        let compared = judged.map_err(failed)?;
        self.right = Some((found, compared.clone()));
        Ok(compared)
    }
}

impl<'a> LocalBench<'a> {
    pub fn new(
        device: Box<dyn Dispatcher + 'a>,
        tools: ToolCases,
        source: Box<dyn CaseSource + 'a>,
        options: LocalOptions,
    ) -> Result<Self, Failure> {
        Ok(Self {
            rig: Rig::calibrate(device, tools, options)?,
            source,
            max_time: options.max_time,
            cases: Vec::new(),
            bases: Vec::new(),
            has_tools: false,
            fastest: None,
            foreseen: HashMap::new(),
            room: Footprint::default(),
            round_started: Duration::ZERO,
            begun: (Duration::ZERO, Before::default()),
            learned: Learned::default(),
        })
    }

    /// Runs the source's reference, if it has one, and lets it know what that computes. Before anything is loaded.
    pub fn learn(&mut self) -> Result<(), Failure> {
        let Some(prepared) = self.source.reference()? else { return Ok(()) };
        let loaded = self.rig.device.load(&prepared)?;
        let (_, poisoned) = self.run_checked(&prepared.case, loaded.slot, true)?;
        let bytes = self.outputs(&prepared.case, loaded.slot)?;
        self.rig.device.unload();
        self.learned = self.source.learn(Outputs { bytes, poisoned });
        // Made-up results say nothing in any case.
        if self.rig.device.is_simulated() {
            self.learned.doubts.clear();
        }
        Ok(())
    }

    /// A checked pass. Before it, where the source tells what a pass never wrote, another one over another poison: gives its outputs,
    /// and how long the first one took.
    fn run_checked(
        &mut self,
        case: &Case,
        slot: CaseHandle,
        is_compared: bool,
    ) -> Result<(Duration, Option<Contents>), Failure> {
        let is_poisoned = case.reset.iter().any(|step| matches!(step, Step::Fill { word: POISON, .. }));
        let has_outputs = !case.check.outputs().is_empty();
        if !(is_compared && has_outputs && is_poisoned && self.source.tells_unwritten()) {
            return Ok((self.rig.device.run_checked(slot)?, None));
        }
        let first = self.rig.device.run_poisoned(slot)?;
        let outputs = self.outputs(case, slot)?;
        self.rig.device.run_checked(slot)?;
        Ok((first, Some(outputs)))
    }

    fn outputs(&mut self, case: &Case, slot: CaseHandle) -> Result<Contents, Failure> {
        case.check.outputs().iter().map(|&output| self.rig.device.read(slot, output)).collect()
    }

    /// Loads the instrument's own cases, before the others.
    fn ready(&mut self, share: Option<u32>) -> Result<(), Failure> {
        if !self.has_tools {
            self.rig.load_tools()?;
            self.has_tools = true;
            self.room = share.map_or(Footprint::ENDLESS, |share| self.rig.device.memory_budget().share(share));
        }
        Ok(())
    }

    fn load(&mut self, job: &Job, shader: &mut Option<ShaderFacts>) -> Result<Loaded, Refusal> {
        let sourced = self.prepared(&job.key).map_err(|failure| failure.at(Stage::Compiling))?;
        *shader = ShaderFacts::from_prepared(&sourced.prepared, self.rig.device.is_simulated());
        let base = job.base.as_ref().map(|key| self.prepare_base(key));
        self.make_room(&sourced.prepared, base.as_ref().and_then(|base| base.as_ref().ok()))?;
        let (mut case, loaded) = self.load_alone(sourced, job.is_checked)?;
        let mut unpaired = None;
        match base.map(|base| base.and_then(|base| self.load_base(job, base))) {
            None => {}
            Some(Ok(base)) => case.base = Some(base),
            // It may fit without the others.
            Some(Err(failure)) if failure.status == Status::OutOfMemory && !self.cases.is_empty() => return Err(Refusal::Full),
            Some(Err(failure)) => unpaired = Some(failure),
        }
        if let Some((sizes, base_sizes)) = job.sizes {
            case.subject.sizes = sizes;
            if let (Some(place), Some(sizes)) = (case.base, base_sizes) {
                let base = &mut self.bases[place];
                (base.subject.sizes, base.is_sized) = (sizes, true);
            }
        }
        self.cases.push(Some(case));
        Ok(Loaded { unpaired, ..loaded })
    }

    fn prepare_base(&mut self, key: &CaseKey) -> Result<FoundBase, Failure> {
        match self.bases.iter().position(|base| base.key == *key) {
            Some(place) => Ok(FoundBase::Known(place)),
            None => Ok(FoundBase::New(key.clone(), Box::new(self.source.prepare(key)?))),
        }
    }

    fn make_room(&mut self, prepared: &Prepared, base: Option<&FoundBase>) -> Result<(), Refusal> {
        let device = &self.rig.device;
        let base = base.map_or(Footprint::default(), |base| match base {
            FoundBase::Known(_) => Footprint::default(),
            FoundBase::New(_, sourced) => device.footprint(&sourced.prepared),
        });
        let footprint = device.footprint(prepared) + base;
        if prepared.case.is_alone || self.cases.iter().flatten().any(|case| case.subject.prepared.case.is_alone) {
            return self.give_all(footprint);
        }
        // The first is tried in any case: only the device knows what it can really hold.
        if !footprint.fits(self.room) && !self.cases.is_empty() {
            return Err(Refusal::Full);
        }
        self.room = footprint.left_of(self.room);
        Ok(())
    }

    /// Of the memory of a bench that holds nothing: what else takes some is looked for now, when other processes and programs have theirs.
    fn give_all(&self, footprint: Footprint) -> Result<(), Refusal> {
        if self.cases.iter().any(Option::is_some) {
            return Err(Refusal::Full);
        }
        let fits = self.rig.device.free_memory().map_or(Ok(()), |free| footprint.fits_alone(free));
        fits.map_err(|Skip { reason }| Failure::new(Status::Skipped, reason).into())
    }

    fn load_base(&mut self, job: &Job, base: FoundBase) -> Result<usize, Failure> {
        match base {
            FoundBase::Known(place) => Ok(place),
            FoundBase::New(key, sourced) => {
                let subject = match self.load_alone(*sourced, job.is_checked) {
                    Ok((LoadedCase { subject, .. }, _)) => subject,
                    Err(Refusal::Full) => return Err(Failure::new(Status::OutOfMemory, "it doesn't fit beside the others")),
                    Err(Refusal::Failed(failure)) => return Err(failure),
                };
                self.bases.push(LoadedBase { key, subject, is_sized: false });
                Ok(self.bases.len() - 1)
            }
        }
    }

    /// Loads a case, runs one pass after a reset, and compares the results: only what is right is timed at all. Gives the time
    /// that its pipelines and its first dispatch took as well.
    fn load_alone(&mut self, sourced: SourcedCase, is_checked: bool) -> Result<(LoadedCase, Loaded), Refusal> {
        let SourcedCase { prepared, judge } = sourced;
        let is_by_host = prepared.case.measurand.is_by_host();
        let refused = |reason: &str| Err(Failure::new(Status::Skipped, reason).into());
        if prepared.case.cache == Cache::Cold {
            if is_by_host {
                return refused("cold mode evicts the device's caches, not those that the host works in");
            }
            if self.rig.instrument.timer == Timer::Host {
                return refused(
                    "cold mode needs the device's timestamps: the host's clock can't leave out what evicts the caches",
                );
            }
        }
        let before_samples = match &*prepared.case.prepare {
            [] => (prepared.case.repeat == Repeat::AfterReset).then_some("the reset"),
            _ => Some("what prepares the caches"),
        };
        if let Some(what) = before_samples.filter(|_| self.rig.instrument.timer == Timer::Host && !is_by_host) {
            let reason =
                format!("the case needs the device's timestamps: the host's clock can't leave out {what} before each sample");
            return Err(Failure::new(Status::Skipped, reason).into());
        }
        let loaded = match self.rig.device.load(&prepared) {
            // The others may have taken what it needs: it gets a second try as the first of the next block.
            Err(failure) if failure.status == Status::OutOfMemory && !self.cases.is_empty() => return Err(Refusal::Full),
            loaded => loaded.map_err(|failure| failure.at(Stage::Loading))?,
        };
        let ran = self.run_checked(&prepared.case, loaded.slot, is_checked);
        let (first_pass, poisoned) = ran.map_err(|failure| failure.at(Stage::FirstDispatch))?;
        let subject = SampledCase { prepared: Rc::new(prepared), slot: loaded.slot, sizes: Sizes::ONE };
        let mut case = LoadedCase { subject, judge, right: None, base: None };
        let error = match is_checked {
            true => {
                let bytes = self.outputs(&case.subject.prepared.case, loaded.slot)?;
                case.compare(Outputs { bytes, poisoned }, "after one pass")?.error
            }
            false => None,
        };
        let pipeline_time = loaded.pipeline_time + first_pass;
        let crate::gpu::Loaded { statistics, memory_types, .. } = loaded;
        Ok((case, Loaded { pipeline_time, statistics, memory_types, unpaired: None, error }))
    }

    fn case(&mut self, place: usize) -> Result<&mut LoadedCase, Failure> {
        let case = self.cases.get_mut(place).and_then(Option::as_mut);
        case.ok_or_else(|| Failure::new(Status::Error, format!("nothing is loaded at place {place}")))
    }

    /// A case, and the place of its base among the bases unless that is left out.
    fn subjects(&mut self, call: Call) -> Result<(SampledCase, Option<usize>), Failure> {
        let case = self.case(call.place)?;
        Ok((case.subject.clone(), case.base.filter(|_| !call.is_alone)))
    }

    /// Chooses the sizes of a case, and of its base unless those were chosen before.
    fn size(&mut self, call: Call, is_race: bool) -> Result<(Sizes, Option<Sizes>), Failure> {
        let (subject, base) = self.subjects(call)?;
        let place = call.place;
        let rival = self.fastest.filter(|_| is_race);
        let sizing = Sizing { max_time: self.max_time, is_race, rival, is_glance: call.is_glance };
        let sizes = self.rig.choose_sizes(&subject, sizing)?;
        self.case(place)?.subject.sizes = sizes;
        if let Some(time) = sizes.pass_time(&subject.prepared.case) {
            self.fastest = Some(self.fastest.map_or(time, |fastest| fastest.min(time)));
        }
        let Some(base) = base else { return Ok((sizes, None)) };
        if !self.bases[base].is_sized {
            let chosen = self.rig.choose_sizes(&self.bases[base].subject, Sizing { rival: None, ..sizing })?;
            (self.bases[base].subject.sizes, self.bases[base].is_sized) = (chosen, true);
        }
        Ok((sizes, Some(self.bases[base].subject.sizes)))
    }

    /// Visits a case, and again where clocks were down or others took the processor, as long as its time allows.
    fn visit(&mut self, call: Call) -> Result<Visited, Failure> {
        let (mut subject, base) = self.subjects(call)?;
        subject.sizes.samples = call.most_samples.map_or(subject.sizes.samples, |most| most.min(subject.sizes.samples));
        if subject.measurand().is_by_host() {
            return self.visit_host(&subject);
        }
        self.rig.warm_up_if_idle(call.is_glance)?;
        let left = call.left;
        let base = base.map(|base| self.bases[base].subject.clone());
        let started = self.rig.device.now();
        let mut repeats_left = REPEATS;
        loop {
            let visit_started = self.rig.device.now();
            let before = self.rig.begin(call.is_glance)?;
            let visit = match &base {
                Some(base) => visit_pair(&mut self.rig, &subject, base)?,
                None => self.rig.visit(&subject, self.max_time)?,
            };
            let conditions = self.rig.conditions_since(&before)?;
            let (now, warm_up) = (self.rig.device.now(), self.rig.warm_up);
            let recovery = flags::recovery(&conditions, warm_up);
            let more = now.saturating_sub(visit_started) + recovery;
            let may_repeat = repeats_left > 0 && now.saturating_sub(started) + more < left;
            // What others have of a GPU is told every few seconds: a visit more would be told the same.
            let judged = match self.rig.device.info().is_cpu() {
                true => conditions,
                false => Conditions { lost: None, ..conditions },
            };
            if flags::is_steady(&judged) || !may_repeat || subject.prepared.case.measurand != Measurand::Pass {
                return Ok(Visited { visit, conditions, spent: now.saturating_sub(started) });
            }
            repeats_left -= 1;
            if recovery > Duration::ZERO {
                self.rig.warm_up()?;
            }
        }
    }

    /// Visits a case that the host's clock times. Where the host does the work by itself, the device idles meanwhile.
    fn visit_host(&mut self, subject: &SampledCase) -> Result<Visited, Failure> {
        if subject.measurand() != Measurand::HostPass {
            self.rig.warm_up_if_idle(false)?;
        }
        let started = self.rig.device.now();
        let visit = self.rig.visit(subject, self.max_time)?;
        if subject.measurand() == Measurand::HostPass {
            self.rig.was_idle();
        }
        let conditions = Conditions::UNTOLD;
        Ok(Visited { visit, conditions, spent: self.rig.device.now().saturating_sub(started) })
    }

    /// The time of an empty pass in each batch size, visited in each round as the cases are; then works on until the round is long
    /// enough, or tells how much it lacks.
    fn end_round(&mut self, batches: &[u32], stays_busy: bool) -> Result<(Vec<f64>, Duration), Failure> {
        let empty = self.rig.tools.empty;
        let &Instrument { timer, floor, .. } = &self.rig.instrument;
        let mut median = |batch| -> Result<f64, Failure> {
            Ok(stats::median(&instrument::repeat(self.rig.device.as_mut(), empty, timer, batch, EMPTY_SAMPLES)?))
        };
        let single = if batches.iter().any(|batch| is_differenced(*batch)) { median(1)? } else { f64::NAN };
        let mut medians = Vec::new();
        for &batch in batches {
            let sample = median(batch)?;
            let beside = if is_differenced(batch) { constant(sample, batch, single, floor) } else { 0.0 };
            medians.push((sample - beside) / f64::from(batch));
        }
        self.rig.was_busy();
        let until = self.round_started + ROUND_SPAN.min(self.max_time);
        if stays_busy {
            self.rig.keep_busy(until)?;
        }
        Ok((medians, until.saturating_sub(self.rig.device.now())))
    }

    /// Runs one more sample, exactly in the timed form, and compares what it leaves behind. Other cases may share the case's outputs,
    /// so what its last timed sample left is gone; the poison of the reset shows that this one wrote it. Gives what there is to say.
    fn check(&mut self, place: usize) -> Result<Compared, Failure> {
        let subject = self.case(place)?.subject.clone();
        let SampledCase { prepared, slot, sizes } = subject.clone();
        if prepared.case.check.outputs().is_empty() {
            return Ok(Compared::default());
        }
        self.rig.device.run_reset(slot)?;
        self.rig.take(&subject, sizes.batch, 1)?;
        let bytes = self.outputs(&prepared.case, slot)?;
        self.case(place)?.compare(Outputs { bytes, poisoned: None }, "after a timed batch")
    }

    fn begin(&mut self, recovers: bool) -> Result<(), Failure> {
        if recovers { self.rig.warm_up() } else { self.rig.warm_up_if_idle(false) }?;
        self.begun = (self.rig.device.now(), self.rig.begin(false)?);
        Ok(())
    }

    fn sample(&mut self, place: usize) -> Result<Visit, Failure> {
        let subject = self.case(place)?.subject.clone();
        let mut visit = Visit::default();
        self.rig.sample_one_into(&mut visit, &subject)?;
        self.rig.was_busy();
        Ok(visit)
    }

    fn end(&mut self) -> Result<(Conditions, Duration), Failure> {
        let (started, before) = std::mem::take(&mut self.begun);
        let conditions = self.rig.conditions_since(&before)?;
        Ok((conditions, self.rig.device.now().saturating_sub(started)))
    }

    /// Looks follow each other the faster the sooner after the rest: clocks rise within half a second.
    fn watch(&mut self, place: usize, rest: Duration, time: Duration) -> Result<Watch, Failure> {
        let subject = self.case(place)?.subject.clone();
        self.rig.device.rest(rest);
        let (mut looks, began) = (Vec::new(), self.rig.device.now());
        let mut at = Duration::ZERO;
        while at < time {
            let before = self.rig.begin(false)?;
            let until = began + at + (at / 4).clamp(SHORTEST_LOOK, LONGEST_LOOK);
            while self.rig.device.now() < until {
                self.rig.take(&subject, subject.sizes.batch, 1)?;
            }
            let conditions = self.rig.conditions_since(&before)?;
            looks.push(Look { at, conditions });
            at = self.rig.device.now().saturating_sub(began);
        }
        Ok(Watch { looks, state: self.rig.device.state() })
    }

    fn unload(&mut self) {
        self.cases.clear();
        self.bases.clear();
        self.has_tools = false;
        self.fastest = None;
        self.rig.device.unload();
    }

    fn load_all(&mut self, jobs: &[Job], share: Option<u32>, is_ahead: bool, answer: &mut Answering) -> Result<(), Loss> {
        let ready = survived(self.ready(share))?;
        let is_ready = ready.is_ok();
        if answer(Answer::Ready(ready)).is_break() || !is_ready {
            return Ok(());
        }
        for (i, job) in jobs.iter().enumerate() {
            if is_ahead {
                self.look_ahead(&jobs[i..]);
            }
            let (mut shader, place) = (None, self.cases.len());
            let result = match self.load(job, &mut shader) {
                Ok(loaded) => Ok(loaded),
                Err(Refusal::Full) => return Ok(()),
                Err(Refusal::Failed(failure)) => {
                    self.cases.push(None);
                    survived(Err(failure))?
                }
            };
            if answer(Answer::Loaded(Box::new(Loading { place, shader, result }))).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

enum FoundBase {
    Known(usize),
    New(CaseKey, Box<SourcedCase>),
}

/// A device that is lost, or doesn't end what it was given, is of no use any more; any other failure is one of the case.
fn survived<T>(result: Result<T, Failure>) -> Result<Result<T, Failure>, Loss> {
    match result {
        Err(failure) if matches!(failure.status, Status::DeviceLost | Status::Timeout) => Err(Loss(failure)),
        result => Ok(result),
    }
}

/// Does something for each item, while the taker of the answers wants to go on.
fn each<I, T>(
    items: impl IntoIterator<Item = I>,
    answer: &mut Answering,
    wrap: fn(Result<T, Failure>) -> Answer,
    mut act: impl FnMut(I) -> Result<T, Failure>,
) -> Result<(), Loss> {
    for item in items {
        if let ControlFlow::Break(()) = answer(wrap(survived(act(item))?)) {
            break;
        }
    }
    Ok(())
}

impl Bench for LocalBench<'_> {
    fn info(&self) -> &DeviceInfo {
        self.rig.device.info()
    }

    fn instrument(&self) -> &Instrument {
        &self.rig.instrument
    }

    fn learned(&self) -> &Learned {
        &self.learned
    }

    fn compiles_ahead(&self) -> bool {
        self.rig.device.compile_threads() > 0
    }

    fn carry_out(&mut self, order: Order, answer: &mut Answering) -> Result<(), Loss> {
        match order {
            Order::Load { jobs, share, is_ahead } => self.load_all(&jobs, share, is_ahead, answer),
            Order::Anticipate { keys } => {
                self.anticipate(&keys);
                Ok(())
            }
            Order::Size { calls, is_race } => each(calls, answer, Answer::Sized, |call| self.size(call, is_race)),
            Order::BeginRound { is_busy } => {
                self.round_started = self.rig.device.now();
                if is_busy {
                    self.rig.was_busy();
                }
                Ok(())
            }
            Order::Visit { calls } => each(calls, answer, Answer::Visited, |call| self.visit(call)),
            Order::EndRound { batches, stays_busy } => {
                each([()], answer, Answer::RoundEnded, |()| self.end_round(&batches, stays_busy))
            }
            Order::Work { time } => each([()], answer, Answer::Ready, |()| {
                let until = self.rig.device.now() + time;
                self.rig.keep_busy(until)
            }),
            Order::Check { places } => each(places, answer, Answer::Checked, |place| self.check(place)),
            Order::Unload => {
                self.unload();
                Ok(())
            }
            Order::Begin { recovers } => each([()], answer, Answer::Begun, |()| self.begin(recovers)),
            Order::Sample { place, .. } => each([()], answer, Answer::Sampled, |()| self.sample(place)),
            Order::End => each([()], answer, Answer::Ended, |()| self.end()),
            Order::Watch { place, rest, time } => each([()], answer, Answer::Watched, |()| self.watch(place, rest, time)),
        }
    }
}
