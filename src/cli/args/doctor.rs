//! `lanescope doctor`, as typed.

use std::time::Duration;

use clap::Args;

use super::values::duration;

const EXIT_CODES: &str = "\
Exit codes: 0: nothing found; 1: something was found; 2: wrong flags, or an unknown device;
75: another run has the device; 130: interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Doctor {
    /// Device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one, `all` is every usable one. May come
    /// several times (default: the first GPU, else the first device)
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Vec<String>,

    /// Ask what is loaded and what the system tells, and measure nothing: takes a second or two
    #[arg(long)]
    pub quick: bool,

    /// As JSON
    #[arg(long)]
    pub json: bool,

    /// Measure even where another run does so on the same device
    #[arg(long)]
    pub no_lock: bool,

    /// Wait for a device that another run has: as long as it takes, or at most this long, such as 10min (default: end at once, with
    /// exit code 75)
    #[arg(long, value_name = "TIME", value_parser = duration, num_args = 0..=1, require_equals = true, conflicts_with = "no_lock")]
    pub wait: Option<Option<Duration>>,

    /// No progress
    #[arg(short = 'q', long = "quiet", conflicts_with = "verbose")]
    pub is_quiet: bool,

    /// Also what drivers print
    #[arg(short, long)]
    pub verbose: bool,
}
