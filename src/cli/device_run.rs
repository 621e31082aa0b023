//! One device's share of a run: from its plan to its rows, block by block.

use std::collections::HashMap;
use std::time::Duration;

use super::args::Run;
use super::relations::Relations;
use super::sink::Sink;
use super::target::Targets;
use super::tools::{evict_bytes, tool_cases};
use crate::measure::{BLOCK_CASES, Dispatcher, Event, JUDGED_ROUNDS, Job, Measured, Options, Session, ToolCases};
use crate::model::{Cache, Case, DeviceInfo, Failure, Feature, Measurand, Preset, Skip, Status};
use crate::output::Progress;
use crate::plan::{Plan, Planned};
use crate::record::Record;
use crate::shader::{self, Compiler, Library, Prepared};
use crate::units::Bytes;
use crate::validate::Verdict;

/// What the timing of a whole quick run may take.
const QUICK_TIME: Duration = Duration::from_secs(45);
/// The least that a case is given, however many there are: below it, samples are too few to judge.
const LEAST_TIME: Duration = Duration::from_millis(20);

/// What `--stats` gets from a driver that has none.
const NO_STATISTICS: &str = "note: this driver tells no pipeline statistics (VK_KHR_pipeline_executable_properties is missing)";

/// What cases are measured alternately with.
#[derive(Clone, Copy)]
pub enum Pairing<'r> {
    /// Nothing.
    None,
    /// The case that each is compared with, on the same device.
    Bases,
    /// The same case on another device.
    Device(&'r DeviceInfo, &'r Plan<'r>),
}

/// One device's share of a run.
pub struct DeviceRun<'r> {
    /// The options of the run.
    pub arguments: &'r Run,
    /// What devices are opened from.
    pub targets: &'r Targets,
    /// The device.
    pub device: &'r DeviceInfo,
    /// What is to be measured on it.
    pub plan: &'r Plan<'r>,
    /// What is measured alternately.
    pub pairing: Pairing<'r>,
    /// A row with all that is the same in this device's rows.
    pub template: Record,
    /// Where rows go.
    pub sink: &'r mut Sink,
}

/// What the blocks of a device share.
struct Progressing {
    compiler: Compiler,
    relations: Relations,
}

/// A base of pairs, compiled, and how rows name it.
struct Base {
    prepared: Prepared,
    name: String,
}

impl DeviceRun<'_> {
    /// Measures the plan and writes its rows.
    ///
    /// # Errors
    /// Where rows can't be written, or what measuring itself needs is missing. What a device refuses stands in its rows.
    pub fn run(mut self) -> anyhow::Result<()> {
        let (name, driver, cases) = (&self.device.name, self.device.driver.label(), self.plan.len());
        self.sink.progress.note(&format!("{name} ({driver}): {cases} case{}", if cases == 1 { "" } else { "s" }));
        let mut compiler = Compiler::new(Library::embedded())?;
        let tools = self.tools(&mut compiler, self.device)?;
        let base_tools = match self.pairing {
            Pairing::Device(device, _) => Some(self.tools(&mut compiler, device)?),
            Pairing::None | Pairing::Bases => None,
        };
        let devices = self.open();
        let (mut device, mut base_device) = match devices {
            Ok(devices) => devices,
            Err(error) => return self.give_up(&Failure::new(Status::Error, format!("{error:#}"))),
        };
        let mut session = match Session::new(device.as_mut(), tools, self.options()) {
            Ok(session) => session,
            Err(failure) => return self.give_up(&failure),
        };
        if let (Some((device, tools)), Pairing::Device(info, _)) = (base_device.as_mut().zip(base_tools), self.pairing) {
            session = session.with_base(device.as_mut(), tools, warm_up(info));
        }
        self.introduce(&session);
        let mut progressing = Progressing { compiler, relations: Relations::default() };
        let mut pending = self.plan.iter().peekable();
        while pending.peek().is_some() && !self.sink.closed {
            let block: Vec<Planned> = pending.by_ref().take(BLOCK_CASES).collect();
            self.run_block(&mut session, &mut progressing, &block)?;
        }
        self.derive(progressing.relations)
    }

    fn tools(&self, compiler: &mut Compiler, device: &DeviceInfo) -> anyhow::Result<ToolCases> {
        let evict_bytes = self.arguments.cold.then(|| evict_bytes(self.arguments.evict_bytes, device));
        if let Some(bytes) = evict_bytes {
            self.sink.progress.note(&format!("cold: {} are swept before every sample", Bytes(bytes)));
        }
        tool_cases(compiler, device, self.arguments.seed, evict_bytes)
    }

    /// Opens the device, and that of the bases.
    #[expect(clippy::type_complexity, reason = "a name for two devices would say no more")]
    fn open(&self) -> anyhow::Result<(Box<dyn Dispatcher>, Option<Box<dyn Dispatcher>>)> {
        let Run { seed, stats, .. } = *self.arguments;
        let device = self.targets.open(self.device, seed, stats)?;
        let base = match self.pairing {
            Pairing::Device(device, _) => Some(self.targets.open(device, seed, false)?),
            Pairing::None | Pairing::Bases => None,
        };
        Ok((device, base))
    }

    /// Writes a row for every case of a device that can't be opened or calibrated: the plan is known, and other devices go on.
    fn give_up(&mut self, failure: &Failure) -> anyhow::Result<()> {
        let (name, Failure { status, reason }) = (&self.device.name, failure);
        self.sink.progress.note(&format!("{name} can't be measured on: {status}: {reason}"));
        let failure = Failure::new(*status, format!("not run: {reason}"));
        for planned in self.plan.iter() {
            let mut row = self.template.clone();
            row.describe_case(&planned, self.device);
            if planned.case.is_ok() {
                row.fail(&failure);
            }
            self.sink.write(row)?;
        }
        Ok(())
    }

    fn introduce(&self, session: &Session) {
        let instrument = session.instrument();
        if let Some(note) = &instrument.note {
            self.sink.progress.note(&format!("note: {note}"));
        }
        for quirk in &self.device.quirks {
            self.sink.progress.note(&format!("note: known driver fault {}: {}", quirk.name, quirk.what));
        }
        if self.arguments.stats && !self.device.has(Feature::PipelineExecutableProperties) {
            self.sink.progress.note(NO_STATISTICS);
        }
        self.sink.progress.detail(&format!("timer: {}, floor {}", instrument.timer.as_str(), instrument.floor));
    }

    fn options(&self) -> Options {
        let (max_noise, max_time) = match self.arguments.preset() {
            Preset::Quick => (0.05, quick_time(self.plan.len())),
            Preset::Default => (0.01, Duration::from_secs(2)),
            Preset::Thorough => (0.005, Duration::from_secs(10)),
        };
        Options {
            max_noise: self.arguments.max_noise.unwrap_or(max_noise),
            max_time: self.arguments.max_time.unwrap_or(max_time),
            warm_up: warm_up(self.device),
            seed: self.arguments.seed,
        }
    }

    /// Compiles a block's cases, measures those that compiled, and writes a row for each, in the plan's order.
    fn run_block(&mut self, session: &mut Session, shared: &mut Progressing, block: &[Planned]) -> anyhow::Result<()> {
        let mut rows = Vec::with_capacity(block.len());
        let mut prepared = Vec::new();
        let mut places = Vec::new();
        for (place, planned) in block.iter().enumerate() {
            let mut row = self.template.clone();
            row.describe_case(planned, self.device);
            if let Ok(case) = &planned.case {
                if let Some(ready) = self.prepare(case, &mut shared.compiler, &mut row) {
                    prepared.push(ready);
                    places.push(place);
                }
            }
            rows.push(row);
        }
        let bases: Bases = self.bases(places.iter().map(|&place| &block[place]), &mut shared.compiler);
        let jobs: Vec<Job> = prepared.iter().zip(&places).map(|(case, &place)| bases.job(case, &block[place])).collect();
        let progress = &self.sink.progress;
        progress.advance((block.len() - jobs.len()) as u64);
        let mut check = |index: usize, case: &Case, outputs: &[Vec<u8>]| -> Verdict {
            block[places[index]].experiment.check(case, outputs)
        };
        let outcomes = session.measure(&jobs, &mut check, &mut |event| show(progress, event));
        for ((&place, ready), outcome) in places.iter().zip(&prepared).zip(outcomes) {
            let (planned, row) = (&block[place], &mut rows[place]);
            match outcome {
                Ok(measured) => {
                    row.measure(&ready.case, &measured);
                    shared.relations.judge(&planned.work, row);
                    self.describe_pair(row, &measured, bases.of(planned));
                }
                Err(failure) => row.fail(&failure),
            }
        }
        for (planned, row) in block.iter().zip(&rows) {
            shared.relations.keep(row, planned.base.as_ref().is_some_and(|base| base.case_id == planned.case_id));
        }
        for (planned, row) in block.iter().zip(&mut rows) {
            planned.base.iter().for_each(|base| shared.relations.compare(&base.case_id, row));
        }
        rows.into_iter().try_for_each(|row| self.sink.write_aloud(row))
    }

    /// Fills in a row's pair, or why it has none though it should: a base that is no case of this run fails the run by that.
    fn describe_pair(&mut self, row: &mut Record, measured: &Measured, base: Option<&Result<Base, Failure>>) {
        match (base, &measured.pair, &measured.unpaired) {
            (Some(Ok(base)), Some(pair), _) => row.describe_pair(&base.name, pair),
            (Some(Ok(_)), None, Some(failure)) | (Some(Err(failure)), ..) => {
                row.leave_unpaired(failure);
                if failure.status.is_failure() {
                    let Record { experiment, variant, axes, .. } = &*row;
                    let Failure { status, reason } = failure;
                    self.sink.fault(&format!("{experiment} {variant} {axes}: not paired, its base failed: {status}: {reason}"));
                }
            }
            _ => {}
        }
    }

    /// Compiles a case; what doesn't compile, or needs more shared memory than there is, ends in its row.
    fn prepare(&self, case: &Case, compiler: &mut Compiler, row: &mut Record) -> Option<Prepared> {
        match shader::prepare(case.clone(), compiler) {
            Ok(prepared) => {
                row.describe_shader(&prepared);
                if self.targets.are_mock() {
                    row.compile_ms = None; // the one figure that the simulation doesn't simulate
                }
                match shared_memory_limit(&prepared, self.device) {
                    Ok(()) => Some(prepared),
                    Err(skip) => {
                        row.status = Status::Skipped.to_string();
                        row.reason = skip.reason;
                        None
                    }
                }
            }
            Err(failure) => {
                row.fail(&failure);
                None
            }
        }
    }

    /// The bases of these cases' pairs, each compiled once.
    fn bases<'p>(&self, cases: impl Iterator<Item = &'p Planned>, compiler: &mut Compiler) -> Bases {
        let mut bases = Bases { by_case: HashMap::new(), bases: Vec::new() };
        let mut known: HashMap<String, usize> = HashMap::new();
        for planned in cases {
            let Some((base, device, name)) = self.base_of(planned) else { continue };
            let place = *known.entry(base.case_id.clone()).or_insert_with(|| {
                bases.bases.push(prepare_base(base, device, compiler).map(|prepared| Base { prepared, name }));
                bases.bases.len() - 1
            });
            bases.by_case.insert(planned.case_id.clone(), place);
        }
        bases
    }

    /// What a case is measured alternately with, where that runs, and how rows name it. Nothing for what measures the timer itself,
    /// which has no passes to alternate.
    fn base_of(&self, planned: &Planned) -> Option<(Planned, &DeviceInfo, String)> {
        let experiment = planned.experiment.name();
        let has_passes = planned.case.as_ref().is_ok_and(|case| case.measurand == Measurand::Pass);
        match self.pairing {
            Pairing::Bases if has_passes => {
                let base = planned.base.as_ref().filter(|base| base.case_id != planned.case_id)?;
                Some((self.plan.case_at(experiment, base.variant, &base.point)?, self.device, base.case_id.clone()))
            }
            Pairing::Device(device, plan) if has_passes => {
                let base = plan.case_at(experiment, planned.variant, &planned.point)?;
                let name = format!("{}@{}/{}", base.case_id, device.device_uuid, device.driver.uuid);
                Some((base, device, name))
            }
            _ => None,
        }
    }

    /// Writes the figures that follow from the rows of this device.
    fn derive(&mut self, relations: Relations) -> anyhow::Result<()> {
        let cache = if self.arguments.cold { Cache::Cold } else { Cache::Warm };
        for (derived, flags) in relations.derive() {
            let mut row = self.template.clone();
            row.describe_derived(&derived, &flags, cache);
            self.sink.write_aloud(row)?;
        }
        Ok(())
    }
}

/// The bases of a block's pairs.
struct Bases {
    /// By the case that is measured alternately with it, its place below.
    by_case: HashMap<String, usize>,
    bases: Vec<Result<Base, Failure>>,
}

impl Bases {
    fn of(&self, planned: &Planned) -> Option<&Result<Base, Failure>> {
        self.by_case.get(&planned.case_id).map(|&place| &self.bases[place])
    }

    fn job<'c>(&'c self, case: &'c Prepared, planned: &Planned) -> Job<'c> {
        let base = self.of(planned).and_then(|base| base.as_ref().ok());
        Job { case, base: base.map(|base| &base.prepared) }
    }
}

/// Compiles a base, if its device can run it.
fn prepare_base(base: Planned, device: &DeviceInfo, compiler: &mut Compiler) -> Result<Prepared, Failure> {
    let skipped = |skip: Skip| Failure::new(Status::Skipped, skip.reason);
    let prepared = shader::prepare(base.case.map_err(skipped)?, compiler)?;
    shared_memory_limit(&prepared, device).map_err(skipped)?;
    Ok(prepared)
}

/// Clocks take 200 to 450 ms to rise on a GPU; a processor's rise within milliseconds.
fn warm_up(device: &DeviceInfo) -> Duration {
    Duration::from_millis(if device.is_cpu() { 50 } else { 450 })
}

fn quick_time(cases: u64) -> Duration {
    let share = QUICK_TIME / u32::try_from(cases.max(1)).unwrap_or(u32::MAX);
    share.clamp(LEAST_TIME, Duration::from_secs(2))
}

fn shared_memory_limit(prepared: &Prepared, device: &DeviceInfo) -> Result<(), Skip> {
    let limit = u64::from(device.limits.shared_bytes);
    match prepared.kernels.iter().map(|kernel| kernel.shared_bytes).max() {
        Some(bytes) if bytes > limit => {
            Err(Skip::new(format!("maxComputeSharedMemorySize is {limit}, the case needs {bytes}")))
        }
        _ => Ok(()),
    }
}

fn show(progress: &Progress, event: Event) {
    match event {
        Event::Loading(case) => {
            progress.start(&format!("checking {} {}", case.experiment, case.point));
            progress.step();
        }
        Event::Timing(case, round) => {
            progress.start(&format!("round {round}: {} {}", case.experiment, case.point));
            // Rounds beyond those that every case has would move the bar past the cases to come.
            if round <= JUDGED_ROUNDS[0] {
                progress.step();
            }
        }
        Event::Ended(_) => progress.advance(1),
    }
}
