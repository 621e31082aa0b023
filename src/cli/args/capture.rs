//! `lanescope capture`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use super::colours::Colours;
use super::values::{bytes, duration, groups};

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

    /// Take kernels out, in a second run of the program: a manifest for each one, with what its buffers hold before and after one
    /// dispatch. TOP:5 are those that take longest; NAME may have * and ?
    #[arg(long, value_name = "TOP:N|NAME|all")]
    pub kernels: Option<KernelChoice>,

    /// Take this dispatch of each kernel, counted from 1 in the order of recording (default: one in the middle)
    #[arg(long, value_name = "NUMBER", requires = "kernels", value_parser = clap::value_parser!(u64).range(1..))]
    pub call: Option<u64>,

    /// Take only kernels with these workgroups
    #[arg(long, value_name = "X,Y,Z", requires = "kernels", value_parser = groups)]
    pub groups: Option<[u32; 3]>,

    /// Take at most this many bytes of the application's data, such as 512Mi; buffers beyond it are filled with random numbers
    #[arg(long, value_name = "BYTES", requires = "kernels", value_parser = bytes, default_value = "4Gi")]
    pub max_bytes: u64,

    /// Keep sources, paths and lines in the modules
    #[arg(long)]
    pub keep_source: bool,

    /// Write the rows of a capture that ended before they were written: `lanescope` itself was killed
    #[arg(long, conflicts_with_all = ["command", "timing", "after", "part", "then_stop", "measure_cost", "kernels"])]
    pub finish: bool,

    /// No remarks, and no card
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub colours: Colours,
}

/// Which kernels are taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelChoice {
    /// As many as take longest.
    Top(usize),
    All,
    /// A glob over names.
    Named(String),
}

impl FromStr for KernelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("TOP:").or_else(|| text.strip_prefix("top:")) {
            Some(count) => match count.parse() {
                Ok(count) if count > 0 => Ok(Self::Top(count)),
                _ => Err("TOP:N is needed, such as TOP:5".to_owned()),
            },
            None if text == "all" => Ok(Self::All),
            None => Ok(Self::Named(text.to_owned())),
        }
    }
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
