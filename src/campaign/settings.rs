//! What a campaign is to do, resolved from whatever the user typed: plain data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::host::last_level_cache;
use crate::experiments::calibration::evict;
use crate::model::{Cache, DeviceInfo, DeviceKind, FilePath, PipelineDetail, Preset, QueueChoice};
use crate::output::{Format, Mode};
use crate::subject::FixedKernel;
use crate::worker::{Deadlines, FoundDevice, Identity, Opening};

#[derive(Clone, Debug)]
pub struct Settings {
    /// The devices that are asked for; none for the one that is best.
    pub devices: Vec<String>,
    pub may_repeat: bool,
    pub queue: QueueChoice,
    pub is_validated: bool,
    pub is_robust: bool,
    pub processes: usize,
    pub preset: Preset,
    pub seed: u64,
    /// The noise that is precise enough: half the 95 % interval over the median.
    pub max_noise: f64,
    /// The time that a case may be timed; `None` in a quick run, where it depends on the command.
    pub max_time: Option<Duration>,
    /// Differs from run to run where buffers are to lie elsewhere in each process of each; `None` where they lie as they come.
    pub placement: Option<u64>,
    pub detail: PipelineDetail,
    /// What is evicted from caches before every sample; `None` where they stay warm.
    pub evict: Option<Evict>,
    pub dump: Option<PathBuf>,
    /// Kernels of the user's that are measured beside the catalogue.
    pub kernels: Vec<FixedKernel>,
    /// How long worker processes may be silent; `None` where all is done in this one.
    pub isolation: Option<Deadlines>,
    /// Whether nothing is measured: rows are written as planned.
    pub is_dry: bool,
    /// How many failures of a kind are reported at most: where thousands fail in the same way, the first few say it.
    pub most_told: u64,
    pub locking: Locking,
    pub mode: Mode,
    pub files: RowFiles,
}

/// Where rows go, and in which form.
#[derive(Clone, Debug)]
pub struct RowFiles {
    /// The file of an earlier run to go on from, which is written as well.
    pub resume: Option<PathBuf>,
    pub output: Vec<PathBuf>,
    /// The format of what no ending tells.
    pub format: Option<Format>,
    /// What a terminal shows where no format is asked for.
    pub on_terminal: Format,
    /// Whether files bear temporary names until all is written.
    pub are_staged: bool,
    /// The columns that are chosen; none for all.
    pub columns: Vec<String>,
    /// Whether rows don't name the host.
    pub is_anonymous: bool,
}

impl RowFiles {
    /// The files that are written, that of `--resume` first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.resume.iter().chain(&self.output).map(PathBuf::as_path)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evict {
    Usual,
    Bytes(u64),
}

/// What to do about devices that another run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Measure on them all the same.
    None,
    /// End at once.
    Try,
    /// Wait for them: so long at most; `None` for as long as it takes.
    Wait(Option<Duration>),
}

impl Settings {
    /// The time that a case may be timed: in a quick run, what the command makes of it.
    pub fn max_time(&self, quick: Duration) -> Duration {
        self.max_time.unwrap_or(quick)
    }

    pub fn cache(&self) -> Cache {
        if self.evict.is_some() { Cache::Cold } else { Cache::Warm }
    }

    /// With how many bytes a device's caches are evicted, where they are: kernels of the user's are measured warm and cold.
    pub fn evict_bytes(&self, device: &DeviceInfo) -> Option<u64> {
        let of_kernels = (!self.kernels.is_empty()).then_some(Evict::Usual);
        self.evict.or(of_kernels).map(|evict| match evict {
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
        self.isolation.map(|deadlines| (deadlines.first.time + deadlines.usual.time) * 2)
    }

    /// How a device is opened whose cases may be timed so long, for the catalogue, in the first process.
    pub fn opening(&self, place: &FoundDevice, max_time: Duration) -> Opening {
        Opening {
            device: Identity::at_place(&place.info, place.index),
            queue: self.queue.of(&place.info),
            detail: self.detail,
            is_robust: self.is_robust,
            compile_threads: 0,
            seed: self.seed,
            preset: self.preset,
            evict_bytes: self.evict_bytes(&place.info),
            warm_up: warm_up(&place.info),
            max_time,
            deadline: self.submission_deadline(),
            timer: None,
            sentinel: None,
            process: 1,
            placement: self.placement,
            dump: self.dump.clone().map(FilePath::from),
            subject: None,
            kernels: self.kernels.clone(),
            altered: Vec::new(),
        }
    }
}

/// Clocks take 200 to 450 ms to rise on a GPU; a processor's rise within milliseconds.
fn warm_up(device: &DeviceInfo) -> Duration {
    Duration::from_millis(if device.is_cpu() { 50 } else { 450 })
}
