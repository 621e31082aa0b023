//! What a measuring command was told, resolved: plain data.

use std::path::Path;
use std::time::Duration;

use super::args::doctor::Doctor;
use super::args::explain::Explain;
use super::args::measuring::Measuring;
use super::args::recorded::RecordedCase;
use super::args::run::Run;
use super::args::tune::Tune;
use super::args::values::RunPreset;
use super::devices::DEADLINES;
use crate::campaign::host::number_of_run;
use crate::campaign::lanes::Waiting;
use crate::campaign::plan_run::Selection;
use crate::campaign::settings::{Evict, Locking, RowFiles, Settings};
use crate::error::Error;
use crate::model::{PipelineDetail, Preset, QueueChoice};
use crate::output::{Format, Mode};
use crate::plan::{DEFAULT_PROCESSES, DEFAULT_TIME, STUDY_PROCESSES};
use crate::worker::{Deadline, Deadlines};

/// How many failing configurations of a kind a search reports at most.
const MOST_TOLD: u64 = 3;

/// The time for a case of the preset `model`, and the noise that is precise enough there.
const MODEL_TIME: Duration = Duration::from_millis(300);
const MODEL_NOISE: f64 = 0.01;

/// What follows from the flags of `run`.
#[derive(Clone, Debug)]
pub struct RunSettings {
    pub common: Settings,
    pub selection: Selection,
    /// Whether what --cases lists is the plan, since it is of rows and no filter and no axis is typed.
    pub is_of_rows: bool,
    /// Whether the plan is that of the preset `model`.
    pub is_of_model: bool,
}

/// The flags that all measuring commands share, with what each of them takes in its own way: device, preset and processes.
fn settings(flags: Measuring, devices: Vec<String>, preset: Preset, processes: usize) -> Settings {
    let (usual_noise, usual_time) = match preset {
        Preset::Quick => (0.05, None),
        Preset::Default => (0.01, Some(DEFAULT_TIME)),
        Preset::Thorough => (0.005, Some(Duration::from_secs(10))),
    };
    Settings {
        devices,
        may_repeat: false,
        queue: flags.queue,
        is_validated: flags.validation,
        is_robust: flags.robust,
        processes,
        preset,
        seed: flags.seed,
        max_noise: flags.max_noise.unwrap_or(usual_noise),
        max_time: flags.max_time.or(usual_time),
        placement: None,
        detail: if flags.stats { PipelineDetail::Statistics } else { PipelineDetail::None },
        evict: None,
        dump: None,
        kernels: Vec::new(),
        isolation: isolation(&flags),
        is_dry: false,
        most_told: u64::MAX,
        locking: locking(flags.no_lock, flags.wait),
        mode: mode(flags.quiet, flags.verbose),
        files: RowFiles {
            resume: flags.resume,
            output: flags.output,
            format: flags.format,
            on_terminal: Format::Table,
            are_staged: false,
            columns: flags.columns,
            is_anonymous: flags.anonymous,
        },
    }
}

fn mode(is_quiet: bool, is_verbose: bool) -> Mode {
    match (is_quiet, is_verbose) {
        (true, _) => Mode::Quiet,
        (_, true) => Mode::Verbose,
        _ => Mode::Normal,
    }
}

fn isolation(flags: &Measuring) -> Option<Deadlines> {
    let Measuring { no_isolate, first_timeout, timeout, .. } = *flags;
    let of = |time, flag| Deadline { time, flag: Some(flag) };
    (!no_isolate).then_some(Deadlines { first: of(first_timeout, "--first-timeout"), usual: of(timeout, "--timeout") })
}

fn locking(has_none: bool, wait: Option<Option<Duration>>) -> Locking {
    match (has_none, wait) {
        (true, _) => Locking::None,
        (_, None) => Locking::Try,
        (_, Some(most)) => Locking::Wait(most),
    }
}

impl RunSettings {
    /// What `run` was told; `are_rows` is whether its file of cases is one of rows.
    pub fn new(typed: &Run, are_rows: bool) -> Result<Self, Error> {
        let is_of_rows = are_rows && typed.filters.is_empty() && typed.axis.is_empty();
        let preset = run_preset(typed, is_of_rows)?;
        let is_alone = typed.measuring.no_isolate || typed.paired || typed.dry_run;
        let common = run_settings(typed, preset);
        let selection = Selection {
            filters: typed.filters.iter().filter(|filter| !is_manifest(filter)).cloned().collect(),
            is_paired: typed.paired,
            shard: typed.shard,
            listed: None,
            jobs: if is_alone { 1 } else { typed.jobs.map_or(usize::MAX, |jobs| jobs as usize) },
            // Pairs are alternated as they are, and a plan isn't measured.
            waiting: if preset == RunPreset::Study && !is_alone { Waiting::ByTurns } else { Waiting::Once },
        };
        Ok(Self { common, selection, is_of_rows, is_of_model: preset == RunPreset::Model })
    }
}

/// Whether a filter is a kernel's manifest.
pub fn is_manifest(filter: &str) -> bool {
    Path::new(filter).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
}

fn run_preset(typed: &Run, is_of_rows: bool) -> Result<RunPreset, Error> {
    let usual = if typed.filters.is_empty() && !is_of_rows { Preset::Quick } else { Preset::Default };
    let preset = typed.preset.unwrap_or(RunPreset::Usual(usual));
    if preset == RunPreset::Study && typed.measuring.no_isolate {
        let message = "--preset study measures each case in several processes, and --no-isolate keeps everything in one: \
                       leave out one of them";
        return Err(Error::Usage(message.to_owned()));
    }
    let is_other = !typed.filters.is_empty() || !typed.axis.is_empty() || typed.cases.is_some() || typed.cold || typed.paired;
    if preset == RunPreset::Model && is_other {
        let message = "--preset model measures cases of its own, warm: leave out experiments, --axis, --cases, --cold and --paired, \
                       or take another preset";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(preset)
}

fn run_settings(typed: &Run, preset: RunPreset) -> Settings {
    let usual = match preset {
        _ if typed.measuring.no_isolate => 1,
        RunPreset::Usual(Preset::Quick) | RunPreset::Model => 1,
        RunPreset::Usual(Preset::Default | Preset::Thorough) => DEFAULT_PROCESSES,
        RunPreset::Study => STUDY_PROCESSES,
    };
    let processes = typed.processes.map_or(usual.into(), |processes| processes as usize);
    let mut common = settings(typed.measuring.clone(), typed.device.clone(), preset.amount(), processes);
    if preset == RunPreset::Model {
        common.max_noise = typed.measuring.max_noise.unwrap_or(MODEL_NOISE);
        common.max_time = typed.measuring.max_time.or(Some(MODEL_TIME));
    }
    common.placement = (preset == RunPreset::Study).then(number_of_run);
    // A device may be paired with itself.
    common.may_repeat = typed.paired;
    common.evict = typed.cold.then(|| typed.evict_bytes.map_or(Evict::Usual, Evict::Bytes));
    common.dump.clone_from(&typed.dump);
    if typed.isa.is_some() {
        common.detail = PipelineDetail::Code;
    }
    common.is_dry = typed.dry_run;
    if typed.dry_run {
        common.locking = Locking::None;
    }
    // Of everything, a card says what matters; whoever asks for certain rows wants to see them.
    let asks_for_certain = !typed.filters.is_empty() || typed.cases.is_some() || typed.shard.is_some();
    if !(asks_for_certain || typed.paired || typed.cold || typed.tables || typed.dry_run) {
        common.files.on_terminal = Format::Card;
    }
    // A part of a file looks whole.
    common.files.are_staged = typed.shard.is_some() && !typed.dry_run;
    common
}

/// A device is to be examined: nothing is written to files.
impl From<&Doctor> for Settings {
    fn from(typed: &Doctor) -> Self {
        Self {
            devices: typed.device.clone(),
            is_dry: typed.quick,
            locking: locking(typed.no_lock || typed.quick, typed.wait),
            mode: mode(typed.is_quiet, typed.verbose),
            ..Self::without_rows()
        }
    }
}

/// A kernel is to be recorded: no rows are written.
impl From<&RecordedCase> for Settings {
    fn from(typed: &RecordedCase) -> Self {
        let deadline = Deadline { time: typed.timeout, flag: Some("--timeout") };
        Self {
            devices: typed.device.iter().cloned().collect(),
            queue: typed.queue,
            is_validated: typed.validation,
            is_robust: true,
            seed: typed.seed,
            isolation: Some(Deadlines { first: deadline, usual: Deadline::fixed(Duration::ZERO) }),
            is_dry: false,
            locking: locking(typed.no_lock, typed.wait),
            mode: mode(typed.quiet, typed.verbose),
            ..Self::without_rows()
        }
    }
}

/// A kernel is to be recorded, and measured by several processes.
impl From<&Explain> for Settings {
    fn from(typed: &Explain) -> Self {
        let recorded = Self::from(&typed.case);
        // Here it is measured as well.
        let deadlines = recorded.isolation.map(|Deadlines { first, .. }| Deadlines { first, usual: first });
        Self { is_robust: typed.robust, isolation: deadlines, ..recorded }
    }
}

impl Settings {
    /// Those of a command that measures no rows.
    fn without_rows() -> Self {
        let files = RowFiles {
            resume: None,
            output: Vec::new(),
            format: None,
            on_terminal: Format::Table,
            are_staged: false,
            columns: Vec::new(),
            is_anonymous: true,
        };
        Self {
            devices: Vec::new(),
            may_repeat: false,
            queue: QueueChoice::Usual,
            is_validated: false,
            is_robust: false,
            processes: DEFAULT_PROCESSES.into(),
            preset: Preset::Quick,
            seed: 1,
            max_noise: 0.05,
            max_time: None,
            placement: None,
            detail: PipelineDetail::None,
            evict: None,
            dump: None,
            kernels: Vec::new(),
            isolation: Some(DEADLINES),
            is_dry: false,
            most_told: u64::MAX,
            locking: locking(false, None),
            mode: Mode::Normal,
            files,
        }
    }
}

impl From<&Tune> for Settings {
    fn from(typed: &Tune) -> Self {
        let asked = typed.device.iter().cloned().collect();
        let common = settings(typed.measuring.clone(), asked, typed.preset.0, typed.processes as usize);
        Settings { is_dry: typed.dry_run, most_told: MOST_TOLD, ..common }
    }
}
