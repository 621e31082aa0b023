//! `lanescope capture`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use super::colours::Colours;
use super::values::duration;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("part").multiple(true))]
pub struct Capture {
    /// The program, and its arguments, behind `--`
    #[arg(value_name = "PROGRAM", last = true, required_unless_present = "finish")]
    pub command: Vec<OsString>,

    /// Write to this new or empty folder: kernels.csv, with a row for each kernel and count of workgroups, and the kernels' modules
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,

    /// How to time dispatches
    #[arg(long, value_enum, default_value_t = TimingChoice::Isolated)]
    pub timing: TimingChoice,

    /// Skip this many submissions with dispatches first
    #[arg(long, value_name = "SUBMISSIONS", default_value_t = 0)]
    pub after: u64,

    /// Capture at most this many submissions with dispatches
    #[arg(long, value_name = "COUNT", group = "part")]
    pub submissions: Option<u64>,

    /// Capture for at most this time from the first captured submission on, such as 10s
    #[arg(long, value_name = "TIME", value_parser = duration, group = "part")]
    pub seconds: Option<Duration>,

    /// End the program once --submissions or --seconds is reached
    #[arg(long, requires = "part")]
    pub then_stop: bool,

    /// Run the program once more, without capturing, and report what capturing costs
    #[arg(long)]
    pub measure_cost: bool,

    /// Write the rows of a capture that ended before they were written: `lanescope` itself was killed
    #[arg(long, conflicts_with_all = ["command", "timing", "after", "part", "then_stop", "measure_cost"])]
    pub finish: bool,

    /// No remarks, and no card
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub colours: Colours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimingChoice {
    /// Full barriers stand around each dispatch: nothing else runs beside it
    Isolated,
    /// No barriers are added between dispatches: they may run beside each other, and each one's time holds what it shares
    Overlapped,
    /// Dispatches are counted, and not timed
    None,
}
