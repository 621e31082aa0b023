//! The command line, literally: what each flag means is resolved elsewhere, against devices and files.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::tune::Tune;
use crate::model::{PipelineDetail, Preset, SpirvTarget};
use crate::output::{Format, Mode};
use crate::plan::{Shard, parse_number};
use crate::worker::{Deadlines, Platform};

/// A Vulkan-native low-level compute profiler: measured, checked rows of how a device behaves.
#[derive(Debug, Parser)]
#[command(name = "lanescope", version, about, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show every device of every installed driver, and why one can't be used
    Devices(Devices),
    /// List the experiments with their axes
    List(List),
    /// Explain what an experiment measures and how to read it
    Describe(Describe),
    /// Describe a shader of yours: its resources, constants, workgroup size and instructions
    Inspect(Inspect),
    /// Measure: all experiments in a quick overview, or those that match
    Run(Box<Run>),
    /// Find the fastest workgroup size and constants of a shader of yours
    #[command(args_override_self = true)]
    Tune(Box<Tune>),
    /// Put the files of a run's shards together, and check that no case is missing or contradicted
    Merge(Merge),
    /// Show the columns of a row
    Schema(Schema),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write those of all commands into a folder
    Man {
        /// The folder; it must exist
        folder: Option<PathBuf>,
    },
    /// Own a device for a run that supervises
    #[command(hide = true)]
    Worker(Worker),
}

/// `lanescope worker`
#[derive(Debug, Args)]
pub struct Worker {
    /// Simulate a device that is told this; may come several times
    #[arg(long, value_name = "OPTIONS", conflicts_with = "validation")]
    pub mock: Vec<String>,

    /// Turn on the Khronos validation layer
    #[arg(long)]
    pub validation: bool,
}

impl Worker {
    /// Where its devices come from.
    pub fn platform(&self) -> Platform {
        if self.mock.is_empty() {
            Platform::Vulkan { validation: self.validation, driver: None }
        } else {
            Platform::Mock(self.mock.clone())
        }
    }
}

/// `lanescope devices`
#[derive(Debug, Args)]
pub struct Devices {
    /// As JSON, with every limit and feature
    #[arg(long)]
    pub json: bool,

    /// Also what drivers print
    #[arg(short, long)]
    pub verbose: bool,
}

/// `lanescope list`
#[derive(Debug, Args)]
pub struct List {
    /// Only experiments that match this glob
    pub filter: Option<String>,
}

/// `lanescope describe`
#[derive(Debug, Args)]
pub struct Describe {
    /// The experiment, such as memory/stream
    pub name: String,
}

/// `lanescope inspect`
#[derive(Debug, Args)]
pub struct Inspect {
    /// A compute shader: GLSL, or SPIR-V of either byte order
    pub shader: PathBuf,

    /// Define a macro for GLSL (NAME alone is 1)
    #[arg(short = 'D', long, value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,

    /// GLSL that is put behind the shader's #version, or in front of a shader that has none
    #[arg(long, value_name = "FILE")]
    pub preamble: Option<PathBuf>,

    /// Where #include looks after the including file's own folder
    #[arg(short = 'I', long, value_name = "FOLDER")]
    pub include: Vec<PathBuf>,

    /// Describe one entry point: the others, and what only they use, are left out (default: all)
    #[arg(short, long, value_name = "NAME")]
    pub entry: Option<String>,

    /// Give a specialization constant a value, by its name or its constant_id
    #[arg(short, long, value_name = "NAME|ID=VALUE")]
    pub constant: Vec<String>,

    /// What to compile GLSL for: newer versions allow newer SPIR-V
    #[arg(long, value_enum, default_value_t = TargetEnv::Vulkan1_1, value_name = "VERSION")]
    pub target_env: TargetEnv,

    /// Say what a device makes of it, too: device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one;
    /// `all` is all that can compile, whether or not they can run anything
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Vec<String>,

    /// Write what each device's compiler made of it, as far as it shows its code, to a file of the device in this folder
    #[arg(long, value_name = "FOLDER", requires = "device")]
    pub isa: Option<PathBuf>,

    /// Deadline for compiling it on a device; beyond, the compiler's process is killed
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    pub timeout: Duration,

    /// How to describe it
    #[arg(long, value_enum, default_value_t = InspectFormat::Text)]
    pub format: InspectFormat,

    /// Also what drivers print
    #[arg(short, long)]
    pub verbose: bool,
}

impl Inspect {
    /// What to ask drivers about the pipeline.
    pub fn detail(&self) -> PipelineDetail {
        if self.isa.is_some() { PipelineDetail::Code } else { PipelineDetail::Statistics }
    }
}

/// What GLSL is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetEnv {
    /// SPIR-V 1.3
    #[value(name = "vulkan1.1")]
    Vulkan1_1,
    /// SPIR-V 1.5
    #[value(name = "vulkan1.2")]
    Vulkan1_2,
    /// SPIR-V 1.6
    #[value(name = "vulkan1.3")]
    Vulkan1_3,
}

impl TargetEnv {
    /// As the compiler calls it.
    pub fn target(self) -> SpirvTarget {
        match self {
            Self::Vulkan1_1 => SpirvTarget::Vulkan1_1,
            Self::Vulkan1_2 => SpirvTarget::Vulkan1_2,
            Self::Vulkan1_3 => SpirvTarget::Vulkan1_3,
        }
    }
}

/// How a shader is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InspectFormat {
    /// For people
    Text,
    /// All of it, for programs
    Json,
}

/// `lanescope schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `lanescope run`
#[derive(Debug, Args)]
pub struct Run {
    /// Globs over names such as memory/stream or calibration/timer:floor (none: all, with the preset quick)
    pub filters: Vec<String>,

    /// Device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one; `all` is all usable ones
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Vec<String>,

    /// Queue family to run on (default: the first that does compute and graphics, else the first that does compute)
    #[arg(long, value_name = "FAMILY")]
    pub queue: Option<u32>,

    /// Values of an axis: local_size_x=32..1024:*2, width=1,4, n=2^20, op=copy
    #[arg(short, long, value_name = "NAME=VALUES")]
    pub axis: Vec<String>,

    /// Measure only the cases that this file lists: rows with a column case_id, or one such id on each line
    #[arg(long, value_name = "FILE")]
    pub cases: Option<PathBuf>,

    /// File to write, its format by its ending (.csv, .jsonl, .md, .txt); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: table on a terminal, else csv)
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// How much to measure (default: quick without a filter, else default)
    #[arg(long, value_enum)]
    pub preset: Option<Preset>,

    /// Noise that is precise enough: half the 95 % interval over the median, as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub max_noise: Option<f64>,

    /// Time that may be spent on timing one case, such as 500ms or 2s; six rounds of one sample are taken in any case
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,

    /// Measure in pairs, sample by sample, which tells small differences from drift: with one device, each case with the one that
    /// it is compared with; with several, each with the same case on the first device (the same device twice tells how good
    /// pairs are)
    #[arg(long)]
    pub paired: bool,

    /// Evict the caches before every sample: samples are of one pass, and compare only with warm rows of batch 1
    #[arg(long)]
    pub cold: bool,

    /// Bytes to evict with, such as 64Mi (default: twice the last-level cache where the system tells its size, else 512Mi or
    /// an eighth of the device's memory)
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "cold")]
    pub evict_bytes: Option<u64>,

    /// Selects test data and the order of visits
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the plan instead of measuring: rows with status `planned` or `skipped`
    #[arg(long)]
    pub dry_run: bool,

    /// Turn on the Khronos validation layer with synchronization validation: any message fails its case
    #[arg(long)]
    pub validation: bool,

    /// Let the device look whether accesses to buffers lie within them (robustBufferAccess), which costs time on some
    #[arg(long)]
    pub robust: bool,

    /// Ask the driver for pipeline statistics (registers, spills, code size); making pipelines takes longer then
    #[arg(long)]
    pub stats: bool,

    /// Write what the driver's compiler made of each measured case, as far as it shows its code, to a file of the case in this
    /// folder; includes --stats
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run")]
    pub isa: Option<PathBuf>,

    /// Deadline: how much longer than it is to take a case may take; beyond, its process is killed and the row says `timeout`
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", conflicts_with = "no_isolate")]
    pub timeout: Duration,

    /// Deadline for compiling a case and its first dispatch, in which some drivers compile
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", conflicts_with = "no_isolate")]
    pub first_timeout: Duration,

    /// Deal each case's rounds over so many processes per device: part of the error lies between processes, and from three on
    /// the interval holds it (default: 1 with the preset quick, else 3)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "no_isolate")]
    pub processes: Option<u32>,

    /// Keep everything in one process, for debuggers and captures: what takes the driver down ends the run
    #[arg(long)]
    pub no_isolate: bool,

    /// Go on with a run that was interrupted: keep the finished rows of this CSV file, and measure what it lacks
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub resume: Option<PathBuf>,

    /// Measure one of N parts of the plan; `lanescope merge` joins the files of all parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Write every sample to this file as well, as CSV
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub samples: Option<PathBuf>,

    /// How many devices that aren't software are measured on at a time (default: all; those on the processor take turns)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,

    /// Measure even where another run does so on the same device
    #[arg(long)]
    pub no_lock: bool,

    /// No progress and no remarks
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// More remarks
    #[arg(short, long)]
    pub verbose: bool,
}

/// `lanescope merge`
#[derive(Debug, Args)]
pub struct Merge {
    /// CSV files of shards, of parts of a run or of whole runs, in any order; one of `run --dry-run` lets missing cases be named
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// File to write once all is well, its format by its ending (.csv, .jsonl, .md, .txt), also one of those read; `-` is
    /// standard output, as is none
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: table on a terminal, else csv)
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// Where cases are missing, only say which, and write the others: they can be merged with the rest later
    #[arg(long)]
    pub partial: bool,

    /// No remarks
    #[arg(short, long)]
    pub quiet: bool,
}

impl Run {
    /// How much to say.
    pub fn mode(&self) -> Mode {
        match (self.quiet, self.verbose) {
            (true, _) => Mode::Quiet,
            (_, true) => Mode::Verbose,
            _ => Mode::Normal,
        }
    }

    /// Over how many processes each device's rounds are dealt.
    pub fn processes(&self) -> usize {
        let default = if self.no_isolate || self.preset() == Preset::Quick { 1 } else { 3 };
        self.processes.map_or(default, |processes| processes as usize)
    }

    /// How long worker processes may be silent.
    pub fn deadlines(&self) -> Deadlines {
        Deadlines { first: self.first_timeout, usual: self.timeout }
    }

    /// What to ask drivers about pipelines.
    pub fn detail(&self) -> PipelineDetail {
        match (&self.isa, self.stats) {
            (Some(_), _) => PipelineDetail::Code,
            (None, true) => PipelineDetail::Statistics,
            (None, false) => PipelineDetail::None,
        }
    }

    /// The preset that applies.
    pub fn preset(&self) -> Preset {
        self.preset.unwrap_or(if self.filters.is_empty() { Preset::Quick } else { Preset::Default })
    }
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim(), 0.01));
    let share = number.parse::<f64>().map(|number| number * unit).ok();
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "a share between 0 and 1 is needed, such as 1% or 0.01".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    parse_number(text)
        .filter(|bytes| *bytes >= 4)
        .ok_or_else(|| "a number of bytes from 4 is needed, such as 2^26 or 64Mi".to_owned())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| format!("{error}; try 500ms or 2s"))?;
    if duration.is_zero() { Err("it must be longer than 0".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_share_is_a_percentage_or_a_ratio() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.01"), Ok(0.01));
        for wrong in ["1", "0", "-1%", "200%", "x", "", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
