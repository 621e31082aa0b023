//! `lanescope run`: the pipeline from plan to rows.

use std::io::IsTerminal;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, anyhow};

use super::args::Run;
use super::host::{describe_host, describe_mock_host, run_id};
use super::target::Targets;
use super::tools::{check_evictor, evict_bytes, tool_cases};
use crate::error::{EXIT_FAILED, EXIT_OK, Error};
use crate::experiments::Setting;
use crate::measure::{BLOCK_CASES, Event, JUDGED_ROUNDS, Options, Outcome, Session};
use crate::model::{Cache, Case, DeviceInfo, Feature, Preset, Skip, Status};
use crate::output::{self, Format, Mode, Outputs, Progress, Target, WriteOutcome};
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
        .map(|device| Plan::new(&request, Setting { device, preset: arguments.preset(), seed: arguments.seed }))
        .collect::<Result<Vec<_>, _>>()?;
    if arguments.cold {
        let mut devices = targets.devices().iter();
        devices.try_for_each(|device| check_evictor(device, evict_bytes(arguments.evict_bytes, device)))?;
    }
    let header = Header::new(plans.iter().flat_map(Plan::axis_names));
    let outputs = output::open(&output_targets(arguments)?, &header)?;

    let cases = plans.iter().map(Plan::len).sum();
    let mut sink = Sink::new(outputs, arguments.mode(), cases);
    let run_id = run_id();
    let started = Instant::now();
    for (device, plan) in targets.devices().iter().zip(&plans) {
        let template = template(arguments, &targets, device, &run_id);
        if sink.closed {
            break;
        }
        if arguments.dry_run {
            dry_run(plan, device, &template, &mut sink)?;
        } else {
            DeviceRun::new(arguments, &targets, device, plan, template, &mut sink)?.run()?;
        }
        // Those of a case are in its row; these came when the device was closed.
        for message in targets.messages() {
            sink.failed += 1;
            sink.progress.note(&format!("validation: {message}"));
        }
    }
    sink.finish(started.elapsed(), arguments.dry_run)
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

/// A row with all that is the same for one device of this run.
fn template(arguments: &Run, targets: &Targets, device: &DeviceInfo, run_id: &str) -> Record {
    let mut row =
        Record { tool_version: env!("CARGO_PKG_VERSION").to_owned(), glsl_compiler: glsl_compiler(), ..Record::new() };
    row.describe_device(device);
    if targets.are_mock() {
        describe_mock_host(&mut row);
    } else {
        describe_host(&mut row, run_id);
    }
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

/// Where rows go, and what is said meanwhile.
struct Sink {
    outputs: Outputs,
    progress: Progress,
    /// Nobody reads any more.
    closed: bool,
    written: u64,
    skipped: u64,
    failed: u64,
}

impl Sink {
    fn new(outputs: Outputs, mode: Mode, cases: u64) -> Self {
        Self { outputs, progress: Progress::new(cases, mode), closed: false, written: 0, skipped: 0, failed: 0 }
    }

    fn write(&mut self, mut row: Record) -> anyhow::Result<()> {
        row.timestamp = timestamp(&row);
        self.written += 1;
        self.skipped += u64::from(row.status == Status::Skipped.as_str());
        let (outputs, progress) = (&mut self.outputs, &self.progress);
        self.closed |= progress.suspend(|| outputs.write(&row))? == WriteOutcome::Closed;
        Ok(())
    }

    fn finish(mut self, elapsed: Duration, dry: bool) -> anyhow::Result<u8> {
        let (outputs, progress) = (&mut self.outputs, &self.progress);
        self.closed |= progress.suspend(|| outputs.finish())? == WriteOutcome::Closed;
        if self.closed {
            return Ok(EXIT_OK);
        }
        let done = self.written - self.skipped - self.failed;
        let (verb, seconds) = (if dry { "planned" } else { "measured" }, elapsed.as_secs_f64());
        self.progress.note(&format!("{done} {verb}, {} skipped, {} failed in {seconds:.1} s", self.skipped, self.failed));
        Ok(if self.failed > 0 { EXIT_FAILED } else { EXIT_OK })
    }
}

/// Now, except on the mock device, whose rows are the same bytes whenever it runs.
fn timestamp(row: &Record) -> String {
    let now = if row.host == "mock" { SystemTime::UNIX_EPOCH } else { SystemTime::now() };
    humantime::format_rfc3339_seconds(now).to_string()
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
        Ok(Self { arguments, targets, device, plan, template, compiler, sink })
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
        let mut device = self.targets.open(self.device, self.arguments.seed, self.arguments.stats)?;
        let mut session = Session::new(device.as_mut(), tools, self.options())
            .map_err(|failure| anyhow!("{}: {}", failure.status, failure.reason))
            .with_context(|| format!("can't calibrate {name}"))?;
        self.introduce(&session);
        let mut pending = self.plan.iter().peekable();
        while pending.peek().is_some() && !self.sink.closed {
            let block: Vec<Planned> = pending.by_ref().take(BLOCK_CASES).collect();
            self.run_block(&mut session, block)?;
        }
        Ok(())
    }

    fn introduce(&self, session: &Session) {
        let instrument = session.instrument();
        if let Some(note) = &instrument.note {
            self.sink.progress.note(&format!("note: {note}"));
        }
        for quirk in &self.device.quirks {
            self.sink.progress.note(&format!("note: this driver has the known fault {quirk}"));
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
        rows.into_iter().try_for_each(|row| self.write(row))
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

    fn write(&mut self, row: Record) -> anyhow::Result<()> {
        if Status::named(&row.status).is_some_and(Status::is_failure) {
            self.sink.failed += 1;
            let case = [row.experiment.as_str(), &row.variant, &row.axes].into_iter().filter(|part| !part.is_empty());
            let case = case.collect::<Vec<_>>().join(" ");
            self.sink.progress.note(&format!("{case}: {}: {}", row.status, row.reason));
        }
        self.sink.write(row)
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
