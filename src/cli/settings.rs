//! What a measuring command was told, resolved: plain data, which alone goes on to the rest of the command.

use std::path::PathBuf;
use std::time::Duration;

use super::args::limits::LimitsFile;
use super::args::measuring::Measuring;
use super::args::run::Run;
use super::args::tune::Tune;
use super::args::values::RunPreset;
use super::host::{last_level_cache, number_of_run};
use super::lanes::Waiting;
use crate::error::Error;
use crate::experiments::calibration::evict;
use crate::model::{Cache, DeviceInfo, DeviceKind, FilePath, PipelineDetail, Preset};
use crate::output::{Format, Mode};
use crate::plan::Shard;
use crate::worker::{Deadline, Deadlines, Identity, Opening, Place};

/// The time that a case may be timed with the preset `default`.
pub const DEFAULT_TIME: Duration = Duration::from_secs(2);
/// Over how many processes the rounds are dealt with the presets `default` and `thorough`.
pub const DEFAULT_PROCESSES: u8 = 3;
/// The same with the preset `study`: one for each of the rounds that an interval needs, so that it is one over processes.
pub const STUDY_PROCESSES: u8 = 6;

#[derive(Clone, Debug)]
pub struct Settings {
    /// As they were typed.
    pub flags: Measuring,
    /// The devices that are asked for; none for the one that is best.
    pub devices: Vec<String>,
    pub may_repeat: bool,
    pub processes: usize,
    pub preset: Preset,
    /// Differs from run to run where buffers are to lie elsewhere in each process of each; `None` where they lie as they come.
    pub placement: Option<u64>,
    pub detail: PipelineDetail,
    /// What is evicted from caches before every sample; `None` where they stay warm.
    pub evict: Option<Evict>,
    pub dump: Option<PathBuf>,
    /// What a terminal shows where no format is asked for.
    pub on_terminal: Format,
    /// Whether files bear temporary names until all is written.
    pub are_staged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evict {
    Usual,
    Bytes(u64),
}

/// What `run` was told beside.
#[derive(Clone, Debug)]
pub struct RunSettings {
    pub common: Settings,
    pub filters: Vec<String>,
    pub axes: Vec<String>,
    pub cases: Option<PathBuf>,
    /// Whether what that lists is the plan, since it is of rows and no filter and no axis is typed.
    pub is_of_rows: bool,
    pub is_paired: bool,
    pub is_dry: bool,
    pub max_cases: u64,
    pub shard: Option<Shard>,
    pub samples: Option<PathBuf>,
    pub isa: Option<PathBuf>,
    pub limits: LimitsFile,
    pub jobs: usize,
    /// How those wait for each other that can't be measured on at the same time.
    pub waiting: Waiting,
}

impl Settings {
    /// The flags that all measuring commands share, with what each of them takes in its own way: device, preset and processes.
    fn new(flags: Measuring, devices: Vec<String>, preset: Preset, processes: usize) -> Self {
        Self {
            devices,
            may_repeat: false,
            processes,
            preset,
            placement: None,
            detail: if flags.stats { PipelineDetail::Statistics } else { PipelineDetail::None },
            evict: None,
            dump: None,
            on_terminal: Format::Table,
            are_staged: false,
            flags,
        }
    }

    pub fn mode(&self) -> Mode {
        match (self.flags.quiet, self.flags.verbose) {
            (true, _) => Mode::Quiet,
            (_, true) => Mode::Verbose,
            _ => Mode::Normal,
        }
    }

    /// How long worker processes may be silent; `None` where all is done in this one.
    pub fn isolation(&self) -> Option<Deadlines> {
        let Measuring { no_isolate, first_timeout, timeout, .. } = self.flags;
        let of = |time, flag| Deadline { time, flag: Some(flag) };
        (!no_isolate).then_some(Deadlines { first: of(first_timeout, "--first-timeout"), usual: of(timeout, "--timeout") })
    }

    /// The noise that is precise enough: half the 95 % interval over the median.
    pub fn max_noise(&self) -> f64 {
        self.flags.max_noise.unwrap_or(match self.preset {
            Preset::Quick => 0.05,
            Preset::Default => 0.01,
            Preset::Thorough => 0.005,
        })
    }

    /// The time that a case may be timed: in a quick run it depends on the command.
    pub fn max_time(&self, quick: Duration) -> Duration {
        self.flags.max_time.unwrap_or(match self.preset {
            Preset::Quick => quick,
            Preset::Default => DEFAULT_TIME,
            Preset::Thorough => Duration::from_secs(10),
        })
    }

    pub fn cache(&self) -> Cache {
        if self.evict.is_some() { Cache::Cold } else { Cache::Warm }
    }

    /// With how many bytes a device's caches are evicted, where they are.
    pub fn evict_bytes(&self, device: &DeviceInfo) -> Option<u64> {
        self.evict.map(|evict| match evict {
            Evict::Bytes(bytes) => bytes,
            Evict::Usual => {
                // A processor's caches are the host's; those of a GPU nothing tells.
                let cache = (device.kind == DeviceKind::Cpu).then(last_level_cache).flatten();
                evict::default_bytes(cache, device.local_heap_bytes())
            }
        })
    }

    /// How long a submission may take before the device counts as hung: late enough that it is the supervisor that loses patience.
    pub fn submission_deadline(&self) -> Option<Duration> {
        self.isolation().map(|deadlines| (deadlines.first.time + deadlines.usual.time) * 2)
    }

    /// How a device is opened whose cases may be timed so long, for the catalogue, in the first process.
    pub fn opening(&self, place: &Place, max_time: Duration) -> Opening {
        Opening {
            device: Identity::at_place(&place.info, place.index),
            queue: self.flags.queue,
            detail: self.detail,
            is_robust: self.flags.robust,
            compile_threads: 0,
            seed: self.flags.seed,
            preset: self.preset,
            evict_bytes: self.evict_bytes(&place.info),
            warm_up: warm_up(&place.info),
            max_time,
            deadline: self.submission_deadline(),
            timer: None,
            process: 1,
            placement: self.placement,
            dump: self.dump.clone().map(FilePath::from),
            subject: None,
        }
    }
}

impl RunSettings {
    /// What `run` was told; `are_rows` is whether its file of cases is one of rows.
    pub fn new(typed: Run, are_rows: bool) -> Result<Self, Error> {
        let is_of_rows = are_rows && typed.filters.is_empty() && typed.axis.is_empty();
        let usual = if typed.filters.is_empty() && !is_of_rows { Preset::Quick } else { Preset::Default };
        let preset = typed.preset.unwrap_or(RunPreset::Usual(usual));
        if preset == RunPreset::Study && typed.measuring.no_isolate {
            let message = "--preset study measures each case in several processes, and --no-isolate keeps everything in one: \
                           leave out one of them";
            return Err(Error::Usage(message.to_owned()));
        }
        let usual = match preset {
            _ if typed.measuring.no_isolate => 1,
            RunPreset::Usual(Preset::Quick) => 1,
            RunPreset::Usual(Preset::Default | Preset::Thorough) => DEFAULT_PROCESSES,
            RunPreset::Study => STUDY_PROCESSES,
        };
        let processes = typed.processes.map_or(usual.into(), |processes| processes as usize);
        let one_by_one = typed.measuring.no_isolate || typed.paired || typed.dry_run;
        let mut common = Settings::new(typed.measuring, typed.device, preset.amount(), processes);
        common.placement = (preset == RunPreset::Study).then(number_of_run);
        // A device may be paired with itself.
        common.may_repeat = typed.paired;
        common.evict = typed.cold.then(|| typed.evict_bytes.map_or(Evict::Usual, Evict::Bytes));
        // Of everything, a card says what matters; whoever asks for certain rows wants to see them.
        let asks_for_certain = !typed.filters.is_empty() || typed.cases.is_some() || typed.shard.is_some();
        if !(asks_for_certain || typed.paired || typed.cold || typed.tables || typed.dry_run) {
            common.on_terminal = Format::Card;
        }
        // A part of a file looks whole.
        common.are_staged = typed.shard.is_some() && !typed.dry_run;
        common.flags.no_lock |= typed.dry_run;
        common.dump.clone_from(&typed.dump);
        if typed.isa.is_some() {
            common.detail = PipelineDetail::Code;
        }
        let asked = typed.jobs.map_or(usize::MAX, |jobs| jobs as usize);
        Ok(Self {
            common,
            filters: typed.filters,
            axes: typed.axis,
            cases: typed.cases,
            is_of_rows,
            is_paired: typed.paired,
            is_dry: typed.dry_run,
            max_cases: typed.max_cases,
            shard: typed.shard,
            samples: typed.samples,
            isa: typed.isa,
            limits: typed.limits,
            jobs: if one_by_one { 1 } else { asked },
            // Pairs are alternated as they are, and a plan isn't measured.
            waiting: if preset == RunPreset::Study && !one_by_one { Waiting::ByTurns } else { Waiting::Once },
        })
    }
}

impl From<&Tune> for Settings {
    fn from(typed: &Tune) -> Self {
        let asked = typed.device.iter().cloned().collect();
        Self::new(typed.measuring.clone(), asked, typed.preset.0, typed.processes as usize)
    }
}

/// Clocks take 200 to 450 ms to rise on a GPU; a processor's rise within milliseconds.
fn warm_up(device: &DeviceInfo) -> Duration {
    Duration::from_millis(if device.is_cpu() { 50 } else { 450 })
}
