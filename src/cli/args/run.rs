//! `lanescope run`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::limits::LimitsFile;
use super::measuring::Measuring;
use super::values::{RunPreset, bytes, count};
use crate::plan::Shard;

#[derive(Debug, Args)]
pub struct Run {
    /// Globs over names such as memory/stream or calibration/timer:floor (none: all, with the preset quick), or manifests (*.toml) of
    /// kernels of your own, which are measured as they are
    pub filters: Vec<String>,

    /// Device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one; `all` is all usable ones
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Vec<String>,

    /// Values of an axis: local_size_x=32..1024:*2, width=1,4, n=2^20, op=copy
    #[arg(short, long, value_name = "NAME=VALUES")]
    pub axis: Vec<String>,

    /// Measure only the cases that this file lists. With rows that lanescope wrote, give no filter and no axis. With a file of one case_id
    /// on each line, also give the filters, axes and preset of the run that they are from
    #[arg(long, value_name = "FILE")]
    pub cases: Option<PathBuf>,

    /// How much to measure (`quick` if you name no experiment and give no rows by --cases; otherwise `default`)
    #[arg(long, value_enum)]
    pub preset: Option<RunPreset>,

    #[command(flatten)]
    pub measuring: Measuring,

    /// Show all figures on the terminal, in tables, where no experiment is named (else you see a card of the device)
    #[arg(long, conflicts_with = "format")]
    pub tables: bool,

    /// Measure two cases alternately, sample by sample, to see small differences in spite of drift. With one device: each case and
    /// the one of `relative_to`. With several: each case and the same on the first device
    #[arg(long)]
    pub paired: bool,

    /// Evict the caches before every sample: samples are of one pass, and compare only with warm rows of batch 1
    #[arg(long)]
    pub cold: bool,

    /// Bytes to evict with, such as 64Mi (default: twice the last-level cache if the system reports its size, else 512Mi or
    /// an eighth of the device's memory)
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "cold")]
    pub evict_bytes: Option<u64>,

    /// Write the plan instead of measuring: rows with status `planned` or `skipped`
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,

    /// The most cases that a run may have on a device: a larger run is refused before anything is written
    #[arg(long, value_name = "NUMBER", value_parser = count, default_value = "10^6")]
    pub max_cases: u64,

    /// Write what the driver's compiler made of each measured case, as far as it shows its code, to a file of the case in this
    /// folder; includes --stats
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run")]
    pub isa: Option<PathBuf>,

    /// Write the pictures that cases make, such as that of algo/raytrace, to this folder, right or wrong: a PNG file for each case
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run")]
    pub dump: Option<PathBuf>,

    /// Spread each case's rounds over N processes per device: part of the error lies between processes, and from three on
    /// the interval holds it (default: 1 with the preset quick, 6 with study, else 3)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "no_isolate")]
    pub processes: Option<u32>,

    /// Measure one of N parts of the plan; `lanescope merge` joins the files of all parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Write every sample to this file as well, as CSV
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub samples: Option<PathBuf>,

    /// How many devices that aren't software are measured on at a time (default: all). Those on the processor, and drivers of the same GPU, are measured one after
    /// the other; with the preset study, by turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,

    #[command(flatten)]
    pub limits: LimitsFile,
}
