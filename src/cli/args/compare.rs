//! `lanescope compare`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::colours::Colours;
use crate::analysis::compare::Gate;
use crate::output::Format;
use crate::units::parse_share;

const EXAMPLES: &str = "\
Examples:
  lanescope compare before.csv after.csv
  lanescope compare before=a1.csv,a2.csv after=b1.csv,b2.csv --fail-on slower:3% --fail-on broken
  lanescope compare both.csv --by driver_info --all

Exit codes: 0: compared; 1: a --fail-on failed; 2: these can't be compared.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// CSV files of rows; the first is the base that others are compared with. Files with one name are replicate runs of one side:
    /// before=a1.csv before=a2.csv, or before=a1.csv,a2.csv. `-` is standard input
    #[arg(required = true, value_name = "[NAME=]FILE")]
    pub sides: Vec<OsString>,

    /// Compare the rows of these files by their values in this column or axis, such as device_name, driver_info, variant or
    /// local_size_x
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,

    /// The value of --by that others are compared with (default: the first that has a case in common with another)
    #[arg(long, value_name = "VALUE", requires = "by")]
    pub base: Option<String>,

    /// Call a case the same once any change of it is shown to be within this share, as 1% or 0.01 (default: 1% on GPUs, 5% on
    /// processors)
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub margin: Option<f64>,

    /// Take devices of one name and driver for one, as in a study whose cases were measured on whichever machine was free. A case
    /// is then judged where each side has it from two devices, or both from the same
    #[arg(long)]
    pub pool_devices: bool,

    /// Compare rows that had better not be: of other units, cold with warm ones, with and without the validation layer
    #[arg(long)]
    pub force: bool,

    /// Exit with 1 if a case is slower (by so much), broken, wrong_result or missing, or can't be judged (unjudged); a glob restricts
    /// it to experiments. Or if all cases together are slower (total), or a family: slower, slower:3%, slower:5%:memory/*,
    /// slower:5%:total, slower:5%:family/memory, broken, missing:sync/*, unjudged:10%. May come several times
    #[arg(long, value_name = "KIND[:SHARE][:WHAT]")]
    pub fail_on: Vec<Gate>,

    /// Write the cases that changed or are unclear to this CSV file, with a few that are the same, and say how to measure them again
    #[arg(long, value_name = "FILE")]
    pub suspects: Option<PathBuf>,

    /// Show every case, those that are the same as well
    #[arg(long)]
    pub all: bool,

    /// File to write, its format by its ending (.txt, .md, .csv, .jsonl); `-` is standard output, as is none. CSV and JSON lines
    /// have every case
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: table, in a pipe too: the answer is for people)
    #[arg(long, value_enum)]
    pub format: Option<ComparisonFormat>,

    /// No remarks
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub colours: Colours,
}

/// A format, of which `--help` says what it has of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparisonFormat(pub Format);

impl ValueEnum for ComparisonFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Format::Table), Self(Format::Csv), Self(Format::Jsonl), Self(Format::Markdown)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            Format::Csv => "Comma-separated values, a line for each case",
            Format::Jsonl => "One JSON object for each case",
            Format::Markdown => "For people, as Markdown: fit for a pull request",
            Format::Table | Format::Card => "For people",
        };
        Some(self.0.to_possible_value()?.help(help))
    }
}
