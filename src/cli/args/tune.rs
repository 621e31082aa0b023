//! `lanescope tune`, as typed or as a manifest says it.

use std::path::PathBuf;

use clap::Args;

use super::described::Described;
use super::measuring::Measuring;
use super::values::{TunePreset, duration, with_path};
use crate::model::Preset;
use crate::tuning::search::{Budget, Strategy};
use crate::units::parse_number;

#[derive(Clone, Debug, Args)]
pub struct Tune {
    #[command(flatten)]
    pub described: Described,

    /// Values of an axis: local_size_x=32..1024:*2, a specialization constant by its name or id, as in TILE=8,16,32, or the size that
    /// subgroups are required to have, as in subgroup_size=16,32
    #[arg(short, long, value_name = "NAME=VALUES")]
    pub axis: Vec<String>,

    /// Allow only configurations where this holds, as in `TILE * local_size_y <= 256`
    #[arg(long, value_name = "EXPRESSION")]
    pub restrict: Vec<String>,

    /// Useful bytes that a pass moves, for GB/s
    #[arg(long, value_name = "EXPRESSION")]
    pub bytes: Option<String>,

    /// Floating-point operations of a pass, for GFLOP/s
    #[arg(long, value_name = "EXPRESSION")]
    pub flops: Option<String>,

    /// Say what the best configuration would save an application that spends this share of its kernels' time in this one, as `capture`
    /// writes it
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub share: Option<f64>,

    /// What outputs are compared with: a configuration (local_size_x=64,TILE=8), another shader, or files with what buffers and
    /// images must hold (FILE, or NAME=FILE,NAME=FILE) (default: the shader as it is written)
    #[arg(long, value_name = "CONFIGURATION|SHADER|FILE", value_parser = with_path())]
    pub reference: Option<String>,

    /// How far floats may be from the reference's, in their own unit (default: 0, and a step for texels of 0 to 1)
    #[arg(long, value_name = "VALUE", value_parser = tolerance)]
    pub absolute_tolerance: Option<f64>,

    /// How far floats may be from the reference's, as a share of their size: that of the reference's number, or the root mean square
    /// of what it changed in the output, if that is more (default: 7.6e-6 for float, 1.4e-14 for double, 3.9e-3 for float16_t)
    #[arg(long, value_name = "SHARE", value_parser = tolerance)]
    pub relative_tolerance: Option<f64>,

    /// What of a buffer or an image must be the reference's: every element at its place, the sum of what was written (partial sums,
    /// one for each workgroup), the elements that were written in any order (a list to which invocations append), or nothing
    /// (default: elements)
    #[arg(long, value_name = "PLACE=elements|sum|set|none")]
    pub check: Vec<String>,

    /// A buffer or an image that holds no result, such as room to work in: the same as --check PLACE=none
    #[arg(long, value_name = "PLACE")]
    pub ignore: Vec<String>,

    /// Accept an output that the reference fills with one value or NaN, or leaves unchanged (constant), an input that no result
    /// depends on (idle), or reads out of bounds at a line of the shader or of a file that it includes, if nothing uses what they
    /// read
    #[arg(long, value_name = "constant|idle:PLACE|[FILE:]LINE")]
    pub accept: Vec<String>,

    /// Don't record what the best configurations access, which finds races, reads of shared memory that nobody wrote, and barriers that
    /// not all invocations come to
    #[arg(long)]
    pub no_check: bool,

    /// Let no configuration win that is wrong at n - 1 or at a prime n, where the reference is right
    #[arg(long)]
    pub any_size: bool,

    /// Don't restore buffers between passes: the shader gives the same result when it runs again on its own output
    #[arg(long)]
    pub idempotent: bool,

    /// How to search (default: exhaustive up to 512 configurations, random under a --budget; else hill-climbing)
    #[arg(long, value_enum)]
    pub strategy: Option<Strategy>,

    /// What the search may spend: a time such as 60s, or a number of configurations (default: all of an exhaustive or a random
    /// search, else 256 or a twentieth)
    #[arg(long, value_name = "TIME|COUNT", value_parser = budget)]
    pub budget: Option<Budget>,

    /// Measure every configuration as precisely as the best: takes longer
    #[arg(long)]
    pub no_race: bool,

    /// Device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Option<String>,

    /// Say what would be searched and about how long that takes, and look whether the reference and a first configuration run, stay
    /// within their arrays and agree, instead of measuring: nothing is written
    #[arg(long, conflicts_with_all = ["output", "resume", "save_table", "t4", "format", "columns"])]
    pub dry_run: bool,

    /// Add the best configuration to this tuning table (JSON), which applications read by the crate `lanescope-table`
    #[arg(long, value_name = "FILE")]
    pub save_table: Option<PathBuf>,

    /// Write all results as Kernel Tuner's T4 JSON
    #[arg(long, value_name = "FILE")]
    pub t4: Option<PathBuf>,

    /// How precisely the best are measured, and how long at most; what a race drops takes less
    #[arg(long, value_enum, default_value_t = TunePreset(Preset::Default))]
    pub preset: TunePreset,

    /// Spread each configuration's rounds over N processes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), default_value_t = 1)]
    pub processes: u32,

    #[command(flatten)]
    pub measuring: Measuring,
}

fn budget(text: &str) -> Result<Budget, String> {
    match parse_number(text).and_then(|count| usize::try_from(count).ok()) {
        Some(0) => Err("nothing could be measured".to_owned()),
        Some(count) => Ok(Budget::Count(count)),
        None => duration(text)
            .map(Budget::Time)
            .map_err(|_| "a time such as 60s or a number of configurations is needed".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "a number from 0 to 1 is needed, such as 0.25".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value >= 0.0 && value.is_finite());
    value.ok_or_else(|| "a number from 0 is needed, such as 1e-5".to_owned())
}
