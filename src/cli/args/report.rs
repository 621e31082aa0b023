//! `lanescope report`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::limits::LimitsFile;
use crate::units::parse_share;

const EXAMPLES: &str = "\
Examples:
  lanescope report rows.csv -o report.html
  lanescope report before=a1.csv,a2.csv after=b1.csv,b2.csv --compare -o report.html
  lanescope report rows.csv --figures figures/";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    /// CSV files of rows, such as `lanescope run -o rows.csv` writes. Files with one name are of one side: before=a1.csv,a2.csv. Several
    /// devices and several sides stand side by side. `-` is standard input
    #[arg(required = true, value_name = "[NAME=]FILE")]
    pub files: Vec<OsString>,

    /// File to write the page to: HTML that needs nothing else and fetches nothing; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "figures")]
    pub output: Option<PathBuf>,

    /// Write every figure as an SVG file into this folder
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,

    /// Say what changed from the first side to the others, as `lanescope compare` does
    #[arg(long)]
    pub compare: bool,

    /// Call a case the same once any change of it is shown to be within this share, as 1% or 0.01 (default: 1% on GPUs, 5% on
    /// processors)
    #[arg(long, value_name = "SHARE", value_parser = parse_share, requires = "compare")]
    pub margin: Option<f64>,

    /// Show what `lanescope doctor --json` found of the machine, from this file
    #[arg(long, value_name = "FILE")]
    pub doctor: Option<PathBuf>,

    #[command(flatten)]
    pub limits: LimitsFile,

    /// No remarks
    #[arg(short, long)]
    pub quiet: bool,
}
