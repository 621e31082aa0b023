//! `lanescope tune`, as typed or as a manifest says it.

use std::path::PathBuf;

use clap::Args;

use super::measuring::Measuring;
use super::values::{TunePreset, count, duration, with_path};
use crate::model::{Preset, SpirvTarget};
use crate::tuning::search::{Budget, Strategy};
use crate::units::parse_number;

#[derive(Clone, Debug, Args)]
pub struct Tune {
    /// The shader: GLSL, or SPIR-V of either byte order; a literal workgroup size is made specializable
    #[arg(required_unless_present = "manifest")]
    pub shader: Option<PathBuf>,

    /// Read flags from this TOML file: keys are their names, paths count from its folder. Flags of the command line win
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,

    /// What rows call it, behind `tune/` (default: the shader's file name)
    #[arg(long)]
    pub name: Option<String>,

    /// The problem's size: elements of buffers, invocations, and `n` in expressions
    #[arg(short, long, value_name = "NUMBER", value_parser = count, default_value = "2^20")]
    pub n: u64,

    /// Values of an axis: local_size_x=32..1024:*2, a specialization constant by its name or id, as in TILE=8,16,32, or the size that
    /// subgroups are required to have, as in subgroup_size=16,32
    #[arg(short, long, value_name = "NAME=VALUES")]
    pub axis: Vec<String>,

    /// Give a specialization constant one value in every configuration, by its name or its constant_id
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub constant: Vec<String>,

    /// Give an array in shared memory other lengths than the numbers that the shader says, as in tile=local_size_x or
    /// tile=local_size_y,local_size_x + 1
    #[arg(long, value_name = "NAME=LENGTH[,LENGTH...]")]
    pub shared: Vec<String>,

    /// Define a macro for GLSL (NAME alone is 1); several values, as in UNROLL=1,2,4, are an axis
    #[arg(short = 'D', long, value_name = "NAME[=VALUES]")]
    pub define: Vec<String>,

    /// Allow only configurations where this holds, as in `TILE * local_size_y <= 256`
    #[arg(long, value_name = "EXPRESSION")]
    pub restrict: Vec<String>,

    /// A buffer by its name or binding: its type, count and fill (random, zero, iota, constant=VALUE, file=PATH), as in
    /// data=float[n * 4]:random or 2=:zero; the type of a texel buffer is a format, as in texels=r32f (default: rgba32f)
    #[arg(short, long, value_name = "PLACE=TYPE[COUNT]:FILL", value_parser = with_path())]
    pub buffer: Vec<String>,

    /// An image by its name or binding: its format, extent (layers come last) and fill, as in picture=rgba16f[width, height]:random
    /// or 1=[64,64] (default: the format that the shader declares, else rgba8, rgba32i or rgba32ui, and n texels, as many in each
    /// direction, or what --threads says where that has two)
    #[arg(long, value_name = "PLACE=FORMAT[WIDTH,HEIGHT,DEPTH]:FILL", value_parser = with_path())]
    pub image: Vec<String>,

    /// How an image is sampled, by the name or binding of a sampler or of an image combined with one: linear or nearest; clamp,
    /// repeat or mirror; unnormalized (default: linear, but nearest for whole numbers, and clamp)
    #[arg(long, value_name = "PLACE=FILTER[,ADDRESS][,unnormalized]")]
    pub sampler: Vec<String>,

    /// A push constant, or a member of a uniform block: NAME=EXPRESSION, several for vectors; of structs and arrays as in
    /// light.position=1,2,3 and weights[3]=0.5; without names by where it begins, in bytes: @16=VALUE, 0:1@16=VALUE in the uniform
    /// block at set 0, binding 1 (default: counts are n, those called size, width, rows or alike the --threads, floats 1)
    #[arg(long, value_name = "NAME=EXPRESSION")]
    pub push: Vec<String>,

    /// Invocations in x, y and z, as in `n` or `width, height`: rounded up to whole workgroups (default: n in all, as many in
    /// each direction that the shader has)
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub threads: Option<String>,

    /// Workgroups in x, y and z instead, as in `ceil_div(n, local_size_x * 4)`
    #[arg(long, value_name = "X[,Y[,Z]]", conflicts_with = "threads")]
    pub groups: Option<String>,

    /// Useful bytes that a pass moves, for GB/s
    #[arg(long, value_name = "EXPRESSION")]
    pub bytes: Option<String>,

    /// Floating-point operations of a pass, for GFLOP/s
    #[arg(long, value_name = "EXPRESSION")]
    pub flops: Option<String>,

    /// What outputs are compared with: a configuration (local_size_x=64,TILE=8), another shader, or files with what buffers and
    /// images must hold (FILE, or NAME=FILE,NAME=FILE) (default: the shader as it is written)
    #[arg(long, value_name = "CONFIGURATION|SHADER|FILE", value_parser = with_path())]
    pub reference: Option<String>,

    /// How far floats may be from the reference's, in their own unit (default: 0, and a step for texels of 0 to 1)
    #[arg(long, value_name = "VALUE", value_parser = tolerance)]
    pub absolute_tolerance: Option<f64>,

    /// How far floats may be from the reference's, as a share of their size: that of the reference's number, or the root mean square
    /// of the output, if that is more (default: 7.6e-6 for float, 1.4e-14 for double, 3.9e-3 for float16_t)
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

    /// Accept an output that the reference fills with one value or NaN, or leaves unchanged (constant), or an input that no result
    /// depends on (idle)
    #[arg(long, value_name = "constant|idle:PLACE")]
    pub accept: Vec<String>,

    /// Let no configuration win that is wrong at n - 1 or at a prime n, where the reference is right
    #[arg(long)]
    pub any_size: bool,

    /// Require full subgroups: local_size_x is a multiple of their size, and no lane is left over
    #[arg(long)]
    pub full_subgroups: bool,

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

    /// GLSL that is put behind the shader's #version, or in front of a shader that has none
    #[arg(long, value_name = "FILE")]
    pub preamble: Option<PathBuf>,

    /// Where #include looks after the including file's own folder
    #[arg(short = 'I', long, value_name = "FOLDER")]
    pub include: Vec<PathBuf>,

    /// What to compile GLSL for
    #[arg(long, value_enum, default_value_t = SpirvTarget::Vulkan1_1, value_name = "VERSION")]
    pub target_env: SpirvTarget,

    /// The entry point, where the module has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,

    /// Take SPIR-V that isn't valid, too: drivers may crash, or make anything of it; rows say invalid_spirv
    #[arg(long, conflicts_with = "validation")]
    pub no_validate: bool,

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

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value >= 0.0 && value.is_finite());
    value.ok_or_else(|| "a number from 0 is needed, such as 1e-5".to_owned())
}
