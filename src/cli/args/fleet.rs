//! `lanescope fleet`, as typed.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::colours::Colours;
use crate::output::Format;
use crate::units::parse_share;

const EXAMPLES: &str = "\
Examples:
  lanescope fleet node*.csv
  lanescope fleet study.csv --factor day --factor rack --machines racks.csv
  lanescope fleet study.csv --by device_uuid --fail-on-deviation

Exit codes: 0: judged; 1: with --fail-on-deviation, a machine deviates; 2: these can't be judged.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Fleet {
    /// CSV files of rows, in which several machines of a kind measured the same cases; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The column that tells machines apart, such as device_uuid (default: host; device_uuid where rows are --anonymous)
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,

    /// Take out what machines may have in common, such as a rack: a column of the rows or of --machines, or `day`. May come several
    /// times
    #[arg(long, value_name = "COLUMN")]
    pub factor: Vec<String>,

    /// A CSV file with a line for each machine: its name in the column of --by, and more columns for --factor
    #[arg(long, value_name = "FILE")]
    pub machines: Option<PathBuf>,

    /// Name no machine that deviates by less, as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "0.25%")]
    pub margin: f64,

    /// End with exit code 1 if a machine deviates
    #[arg(long)]
    pub fail_on_deviation: bool,

    /// Show every machine, those that are like the others as well
    #[arg(long)]
    pub all: bool,

    /// File to write, its format by its ending (.txt, .md, .csv, .jsonl); `-` is standard output, as is none. CSV and JSON lines
    /// have every machine
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: table, in a pipe too: the answer is for people)
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<FleetFormat>,

    /// No remarks
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub colours: Colours,
}

/// A format, of which `--help` says what it has of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetFormat(pub Format);

impl ValueEnum for FleetFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Format::Table), Self(Format::Csv), Self(Format::Jsonl), Self(Format::Markdown)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            Format::Csv => "Comma-separated values, a line for each machine and family",
            Format::Jsonl => "The same as one JSON object each",
            Format::Markdown => "For people, as Markdown",
            Format::Table | Format::Card => "For people",
        };
        Some(self.0.to_possible_value()?.help(help))
    }
}
