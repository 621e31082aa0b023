//! The flags that all commands share that measure.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::colours::Colours;
use super::values::duration;
use crate::model::QueueChoice;
use crate::output::Format;
use crate::units::parse_share;

/// Flags of every command that measures: where, how precisely, how safely, and where rows go.
#[derive(Clone, Debug, Args)]
pub struct Measuring {
    /// Queue family to run on, or `compute` for one that does no graphics, where there is one (default: the first that does compute and
    /// graphics, else the first that does compute)
    #[arg(long, value_name = "FAMILY|compute", default_value = "", hide_default_value = true)]
    pub queue: QueueChoice,

    /// File to write rows to, its format by its ending (.csv, .jsonl, .md, .txt); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: on a terminal a table, or a card of the device where no experiment is
    /// named; else csv)
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// Write these columns alone, as `schema` lists them (of CSV and JSON lines): NAME,...; the key of a row, its schema, its status and
    /// its axes are always there. Merging and resuming need more, and say which
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// Leave the host's name out of the rows
    #[arg(long)]
    pub anonymous: bool,

    /// Go on with a run or a search from the CSV file that it wrote, whatever ended it: repeat its flags, with this in place of -o. What
    /// has figures isn't measured again, but for the best of a search
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Stop when the noise is at most this, as 1% or 0.01: half the 95 % interval over the median
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub max_noise: Option<f64>,

    /// Time for timing one case or configuration, such as 500ms or 2s. Six rounds are taken even if they need longer; in tune, slow
    /// configurations stop earlier, and possible winners have 250ms at least
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,

    /// Select test data, the order of visits, and the random choices of a search
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Turn on the Khronos validation layer with synchronization validation: any message fails its case or configuration
    #[arg(long)]
    pub validation: bool,

    /// Make the device check every buffer access (robustBufferAccess), which costs time on some
    #[arg(long)]
    pub robust: bool,

    /// Ask the driver for pipeline statistics (registers, spills, code size); making pipelines takes longer then
    #[arg(long)]
    pub stats: bool,

    /// Deadline: how much longer than expected a case or configuration may take; beyond it, its process is killed and the row says
    /// `timeout`
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", conflicts_with = "no_isolate")]
    pub timeout: Duration,

    /// Deadline for compiling a case or configuration and for its first dispatch, in which some drivers compile
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", conflicts_with = "no_isolate")]
    pub first_timeout: Duration,

    /// Keep everything in one process, for debuggers and captures: what takes the driver down ends the run
    #[arg(long)]
    pub no_isolate: bool,

    /// Measure even where another run does so on the same device
    #[arg(long)]
    pub no_lock: bool,

    /// Wait for a device that another run has: as long as it takes, or at most this long, such as 10min (default: end at once, with
    /// exit code 75)
    #[arg(long, value_name = "TIME", value_parser = duration, num_args = 0..=1, require_equals = true, conflicts_with = "no_lock")]
    pub wait: Option<Option<Duration>>,

    /// No progress and no remarks: rows, and the answer of a search, alone
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// More remarks
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub colours: Colours,
}
