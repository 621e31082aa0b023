//! `lanescope run`: the pipeline from plan to rows.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::mem;
use std::time::Duration;

use super::args::Run;
use super::host::{describe_host, describe_mock_host};
use super::sink::Sink;
use super::target::Targets;
use super::tools::{check_evictor, evict_bytes, tool_cases};
use crate::error::Error;
use crate::experiments::{self, Setting};
use crate::measure::{BLOCK_CASES, Event, JUDGED_ROUNDS, Options, Outcome, Session};
use crate::model::{Cache, Case, DeviceInfo, Failure, Feature, Finished, Preset, Skip, Status};
use crate::output::{self, Format, Progress, Target};
use crate::plan::{Plan, Planned, Request};
use crate::record::{Header, Record};
use crate::shader::{self, Compiler, Library, Prepared, glsl_compiler};
use crate::units::Bytes;
use crate::validate::Verdict;

/// What the timing of a whole quick run may take.
const QUICK_TIME: Duration = Duration::from_secs(45);
/// The least that a case is given, however many there are: below it, samples are too few to judge.
const LEAST_TIME: Duration = Duration::from_millis(20);

/// What `--stats` gets from a driver that has none.
const NO_STATISTICS: &str = "note: this driver tells no pipeline statistics (VK_KHR_pipeline_executable_properties is missing)";

/// Runs experiments on devices and writes rows.
pub fn run(arguments: &Run) -> anyhow::Result<u8> {
    let targets = Targets::resolve(&arguments.device, arguments.queue, arguments.validation)?;
    let cache = if arguments.cold { Cache::Cold } else { Cache::Warm };
    let request = Request { filters: arguments.filters.clone(), axes: arguments.axis.clone(), cache };
    let plans = targets
        .devices()
        .iter()
        .map(|device| {
            Plan::new(&request, Setting { device, queue: arguments.queue, preset: arguments.preset(), seed: arguments.seed })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if arguments.cold {
        let mut devices = targets.devices().iter();
        devices.try_for_each(|device| check_evictor(device, evict_bytes(arguments.evict_bytes, device)))?;
    }
    let header = Header::new(plans.iter().flat_map(Plan::axis_names));
    let outputs = output::open(&output_targets(arguments)?, &header)?;

    let cases = plans.iter().map(Plan::len).fold(0, u64::saturating_add);
    let mut sink = Sink::new(outputs, arguments, cases, targets.are_mock());
    let measured = run_devices(arguments, &targets, &plans, &mut sink);
    // Whatever ended the run, the rows so far are written whole.
    let code = sink.finish();
    measured.and(code)
}

fn run_devices(arguments: &Run, targets: &Targets, plans: &[Plan], sink: &mut Sink) -> anyhow::Result<()> {
    // One for all devices: their rows are of one run.
    let mut run = Record {
        tool_version: concat!("v", env!("CARGO_PKG_VERSION")).to_owned(),
        glsl_compiler: glsl_compiler(),
        ..Record::new()
    };
    if targets.are_mock() {
        describe_mock_host(&mut run);
    } else {
        describe_host(&mut run);
    }
    for (device, plan) in targets.devices().iter().zip(plans) {
        let template = template(&run, arguments, targets, device);
        if sink.closed {
            break;
        }
        if arguments.dry_run {
            dry_run(plan, device, &template, sink)?;
        } else {
            DeviceRun::new(arguments, targets, device, plan, template, sink)?.run()?;
        }
        // Those of a case are in its row; these came when the device was closed.
        for message in targets.messages() {
            sink.fault(&format!("validation: {message}"));
        }
    }
    Ok(())
}

/// Files as named; standard output where it is named, where no file is, and beside files for a person at a terminal.
fn output_targets(arguments: &Run) -> Result<Vec<(Target, Format)>, Error> {
    let is_terminal = std::io::stdout().is_terminal();
    let for_stdout = arguments.format.unwrap_or(Format::for_stdout(is_terminal));
    let mut targets = Vec::new();
    for path in &arguments.output {
        let target = Target::from_argument(path);
        let format = match (&target, arguments.format) {
            (Target::Stdout, _) => for_stdout,
            (Target::File(path), None) => Format::from_path(path)?,
            (Target::File(path), Some(format)) => Format::from_path(path).unwrap_or(format),
        };
        targets.push((target, format));
    }
    if targets.is_empty() || (is_terminal && targets.iter().all(|(target, _)| *target != Target::Stdout)) {
        targets.push((Target::Stdout, for_stdout));
    }
    Ok(targets)
}

/// A row with all that is the same for one device of a run.
fn template(run: &Record, arguments: &Run, targets: &Targets, device: &DeviceInfo) -> Record {
    let mut row = run.clone();
    row.describe_device(device);
    row.layers = targets.layers();
    row.queue_family = arguments.queue.or_else(|| device.default_queue().map(|family| family.index)).map(u64::from);
    row.validation = Some(arguments.validation);
    row.robustness = Some(false);
    row.seed = Some(arguments.seed);
    row
}

fn dry_run(plan: &Plan, device: &DeviceInfo, template: &Record, sink: &mut Sink) -> anyhow::Result<()> {
    for planned in plan.iter() {
        let mut row = template.clone();
        row.describe_case(&planned, device);
        sink.write(row)?;
        sink.progress.advance(1);
        if sink.closed {
            break;
        }
    }
    Ok(())
}

/// One device's share of a run.
struct DeviceRun<'r> {
    arguments: &'r Run,
    targets: &'r Targets,
    device: &'r DeviceInfo,
    plan: &'r Plan<'r>,
    template: Record,
    compiler: Compiler,
    sink: &'r mut Sink,
    /// Of the cases that others are compared with, the figures so far.
    bases: HashMap<String, f64>,
    /// Finished rows of experiments that derive figures from them, by the experiment's name.
    finished: BTreeMap<&'static str, Vec<Finished>>,
}

impl<'r> DeviceRun<'r> {
    fn new(
        arguments: &'r Run,
        targets: &'r Targets,
        device: &'r DeviceInfo,
        plan: &'r Plan<'r>,
        template: Record,
        sink: &'r mut Sink,
    ) -> anyhow::Result<Self> {
        let compiler = Compiler::new(Library::embedded())?;
        let (bases, finished) = (HashMap::new(), BTreeMap::new());
        Ok(Self { arguments, targets, device, plan, template, compiler, sink, bases, finished })
    }

    fn run(mut self) -> anyhow::Result<()> {
        let name = &self.device.name;
        let (driver, cases) = (self.device.driver.label(), self.plan.len());
        self.sink.progress.note(&format!("{name} ({driver}): {cases} case{}", if cases == 1 { "" } else { "s" }));
        let evict_bytes = self.arguments.cold.then(|| evict_bytes(self.arguments.evict_bytes, self.device));
        let tools = tool_cases(&mut self.compiler, self.device, self.arguments.seed, evict_bytes)?;
        if let Some(bytes) = evict_bytes {
            self.sink.progress.note(&format!("cold: {} are swept before every sample", Bytes(bytes)));
        }
        let mut device = match self.targets.open(self.device, self.arguments.seed, self.arguments.stats) {
            Ok(device) => device,
            Err(error) => return self.give_up(&Failure::new(Status::Error, format!("{error:#}"))),
        };
        let mut session = match Session::new(device.as_mut(), tools, self.options()) {
            Ok(session) => session,
            Err(failure) => return self.give_up(&failure),
        };
        self.introduce(&session);
        let mut pending = self.plan.iter().peekable();
        while pending.peek().is_some() && !self.sink.closed {
            let block: Vec<Planned> = pending.by_ref().take(BLOCK_CASES).collect();
            self.run_block(&mut session, block)?;
        }
        self.derive()
    }

    /// Writes the figures that follow from the rows of this device.
    fn derive(&mut self) -> anyhow::Result<()> {
        let cache = if self.arguments.cold { Cache::Cold } else { Cache::Warm };
        for (name, rows) in mem::take(&mut self.finished) {
            let derived = experiments::find(name).map(|experiment| experiment.derive(&rows)).unwrap_or_default();
            for derived in derived {
                let mut row = self.template.clone();
                row.describe_derived(&derived, cache);
                self.sink.write_aloud(row)?;
            }
        }
        Ok(())
    }

    /// Notes what later rows and derived figures need of a finished one, and compares it with its base.
    fn relate(&mut self, planned: &Planned, row: &mut Record) {
        if !planned.experiment.derived().is_empty() {
            self.finished.entry(planned.experiment.name()).or_default().extend(row.finished());
        }
        let Some(base) = &planned.relative_to else { return };
        if let Some(value) = self.bases.get(base) {
            row.compare_with(base, *value);
        }
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
        // Clocks take 200 to 450 ms to rise on a GPU; a processor's rise within milliseconds.
        let warm_up = Duration::from_millis(if self.device.is_cpu() { 50 } else { 450 });
        Options {
            max_noise: self.arguments.max_noise.unwrap_or(max_noise),
            max_time: self.arguments.max_time.unwrap_or(max_time),
            warm_up,
            seed: self.arguments.seed,
        }
    }

    /// Compiles a block's cases, measures those that compiled, and writes a row for each, in the plan's order.
    fn run_block(&mut self, session: &mut Session, block: Vec<Planned>) -> anyhow::Result<()> {
        let mut rows = Vec::with_capacity(block.len());
        let mut prepared = Vec::new();
        let mut places = Vec::new();
        for (place, planned) in block.iter().enumerate() {
            let mut row = self.template.clone();
            row.describe_case(planned, self.device);
            if let Ok(case) = &planned.case {
                if let Some(ready) = self.prepare(case, &mut row) {
                    prepared.push(ready);
                    places.push(place);
                }
            }
            rows.push(row);
        }
        let progress = &self.sink.progress;
        progress.advance((block.len() - prepared.len()) as u64);
        let mut check = |index: usize, outputs: &[Vec<u8>]| -> Verdict {
            block[places[index]].experiment.check(&prepared[index].case, outputs)
        };
        let outcomes = session.measure(&prepared, &mut check, &mut |event| show(progress, event));
        for ((place, ready), outcome) in places.iter().zip(&prepared).zip(&outcomes) {
            finish_row(&mut rows[*place], &ready.case, outcome);
        }
        for (planned, row) in block.iter().zip(&rows) {
            let is_base = planned.relative_to.as_ref() == Some(&planned.case_id);
            self.bases.extend(row.value.filter(|_| is_base).map(|value| (planned.case_id.clone(), value)));
        }
        for (planned, row) in block.iter().zip(&mut rows) {
            self.relate(planned, row);
        }
        rows.into_iter().try_for_each(|row| self.sink.write_aloud(row))
    }

    /// Compiles a case; what doesn't compile, or needs more shared memory than there is, ends in its row.
    fn prepare(&mut self, case: &Case, row: &mut Record) -> Option<Prepared> {
        match shader::prepare(case.clone(), &mut self.compiler) {
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

fn finish_row(row: &mut Record, case: &Case, outcome: &Outcome) {
    match outcome {
        Ok(measured) => row.measure(case, measured),
        Err(failure) => row.fail(failure),
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
