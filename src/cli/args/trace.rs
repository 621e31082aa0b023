//! `lanescope trace`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::recorded::RecordedCase;
use crate::cli::trace::verdict::FailOn;

#[derive(Clone, Debug, Args)]
pub struct Trace {
    #[command(flatten)]
    pub case: RecordedCase,

    /// Take the sizes of sectors and banks from rows that `run` measured on this device (cache/granules, which cache/line derives, and
    /// shared/banks, which shared/bank_conflict does), beside the vendor's model
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub rows: Vec<PathBuf>,

    /// Take a model of your own instead of the vendor's, as `lanescope guide trace` explains it
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,

    /// Write a row for each instruction to this CSV file; `-` shows them instead of the tables; `lanescope schema trace` lists the
    /// columns
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write a row for each access to this CSV file; `lanescope schema accesses` lists the columns
    #[arg(long, value_name = "FILE")]
    pub records: Option<PathBuf>,

    /// Write the answer as a page as well, with figures, and the source with what its lines cost or do wrong: trace.html
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,

    /// Look for races, barriers that not all invocations come to, reads of shared memory that nobody wrote, and accesses out of bounds,
    /// instead of what accesses cost
    #[arg(long, conflicts_with_all = ["records", "source", "rows", "model", "lanes"])]
    pub check: bool,

    /// Show the shader's source with the figures of each line
    #[arg(long)]
    pub source: bool,

    /// End with exit code 1 where an access of a buffer has a lower efficiency (efficiency:50%), or one of shared memory this degree of
    /// conflicts or more (conflict:4); of one access by its line or name, as in conflict:2:tile. With --check, where there is a `race`,
    /// or what else it names: memory, barrier, exited, uninitialised, bounds or any
    #[arg(long, value_name = "WHAT[:BOUND[:LINE|:NAME]]", value_parser = FailOn::parse)]
    pub fail_on: Vec<FailOn>,

    /// Let --fail-on race pass races in which all write the same
    #[arg(long, value_name = "WHAT", requires = "check")]
    pub allow: Vec<Allowed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Allowed {
    SameValue,
}
