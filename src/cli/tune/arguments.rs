//! `lanescope tune`'s flags, from the command line and from a manifest, whose keys they are.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser};
use toml::{Table, Value};

use crate::cli::args::{Run, TargetEnv, duration, share};
use crate::error::Error;
use crate::model::Preset;
use crate::output::Format;
use crate::plan::parse_number;
use crate::tuning::search::Strategy;

/// `lanescope tune`
#[derive(Clone, Debug, Args)]
pub struct Tune {
    /// The shader: GLSL, or SPIR-V of either byte order; a literal workgroup size is made specializable
    #[arg(required_unless_present = "manifest")]
    pub shader: Option<PathBuf>,

    /// Take flags from this TOML file, whose keys they are (paths count from its folder); those of the command line win
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,

    /// What rows call it, behind `tune/` (default: the shader's file name)
    #[arg(long)]
    pub name: Option<String>,

    /// The problem's size: elements of buffers, invocations, and `n` in expressions
    #[arg(short, long, value_name = "NUMBER", value_parser = number, default_value = "2^20")]
    pub n: u64,

    /// Values of an axis: local_size_x=32..1024:*2, or a specialization constant by its name or id, as in TILE=8,16,32
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
    #[arg(short, long, value_name = "PLACE=TYPE[COUNT]:FILL")]
    pub buffer: Vec<String>,

    /// An image by its name or binding: its format, extent (layers come last) and fill, as in picture=rgba16f[width, height]:random
    /// or 1=[64,64] (default: the format that the shader declares, else rgba8, rgba32i or rgba32ui, and n texels, as many in each
    /// direction)
    #[arg(long, value_name = "PLACE=FORMAT[WIDTH,HEIGHT,DEPTH]:FILL")]
    pub image: Vec<String>,

    /// How an image is sampled, by the name or binding of a sampler or of an image combined with one: linear or nearest; clamp,
    /// repeat or mirror; unnormalized (default: linear, but nearest for whole numbers, and clamp)
    #[arg(long, value_name = "PLACE=FILTER[,ADDRESS][,unnormalized]")]
    pub sampler: Vec<String>,

    /// A push constant, or a member of a uniform block: NAME=EXPRESSION, several for vectors; of structs and arrays as in
    /// light.position=1,2,3 and weights[3]=0.5 (default: counts are n, vectors called size or alike the --threads, floats 1)
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
    #[arg(long, value_name = "CONFIGURATION|SHADER|FILE")]
    pub reference: Option<String>,

    /// How far floats may be from the reference's, in their own unit (default: 1e-6 for float, a step for texels of 0 to 1)
    #[arg(long, value_name = "VALUE", value_parser = tolerance)]
    pub absolute_tolerance: Option<f64>,

    /// How far floats may be from the reference's, as a share (default: 1e-4 for float)
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

    /// A pass that reads what it writes may follow itself all the same: no buffer is restored between passes
    #[arg(long)]
    pub idempotent: bool,

    /// How to search (default: exhaustive up to 512 configurations, else hill-climbing)
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
    #[arg(long, value_enum, default_value_t = TargetEnv::Vulkan1_1, value_name = "VERSION")]
    pub target_env: TargetEnv,

    /// The entry point, where the module has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,

    /// Device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Option<String>,

    /// Queue family to run on
    #[arg(long, value_name = "FAMILY")]
    pub queue: Option<u32>,

    /// File to write rows to, its format by its ending (.csv, .jsonl, .md, .txt); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Go on with a search that was interrupted or killed: give what it was given, with this in the place of -o
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: table on a terminal, else csv)
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// Add the best configuration to this tuning table (JSON), which `lanescope::tuning::Table` reads
    #[arg(long, value_name = "FILE")]
    pub save_table: Option<PathBuf>,

    /// Write all results as Kernel Tuner's T4 JSON
    #[arg(long, value_name = "FILE")]
    pub t4: Option<PathBuf>,

    /// How precisely the best are measured
    #[arg(long, value_enum, default_value_t = Preset::Default)]
    pub preset: Preset,

    /// Noise that is precise enough: half the 95 % interval over the median, as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub max_noise: Option<f64>,

    /// Time that may be spent on timing one configuration
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,

    /// Selects test data, the order of visits, and what a search does by chance
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Turn on the Khronos validation layer with synchronization validation: any message fails its configuration
    #[arg(long)]
    pub validation: bool,

    /// Let the device look whether accesses to buffers lie within them (robustBufferAccess), which costs time on some
    #[arg(long)]
    pub robust: bool,

    /// Ask the driver for pipeline statistics (registers, spills, code size)
    #[arg(long)]
    pub stats: bool,

    /// Deadline: how much longer than it is to take a configuration may take; beyond, its process is killed
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", conflicts_with = "no_isolate")]
    pub timeout: Duration,

    /// Deadline for compiling a configuration and its first dispatch
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", conflicts_with = "no_isolate")]
    pub first_timeout: Duration,

    /// Deal each configuration's rounds over so many processes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), default_value_t = 1)]
    pub processes: u32,

    /// Keep everything in one process, for debuggers and captures
    #[arg(long)]
    pub no_isolate: bool,

    /// Measure even where another run does so on the same device
    #[arg(long)]
    pub no_lock: bool,

    /// No progress and no remarks: the answer alone
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// More remarks
    #[arg(short, long)]
    pub verbose: bool,
}

/// The least that a search spends which isn't to look at everything.
const FEW: usize = 256;

impl Budget {
    /// What a search of so many configurations spends where nothing is said.
    pub fn usual(strategy: Strategy, configurations: usize) -> Self {
        match strategy {
            Strategy::Exhaustive | Strategy::Random => Self::Count(configurations),
            _ => Self::Count(configurations.min(FEW.max(configurations / 20))),
        }
    }
}

/// What a search may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// So long.
    Time(Duration),
    /// So many configurations.
    Count(usize),
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

fn number(text: &str) -> Result<u64, String> {
    parse_number(text).filter(|n| *n > 0).ok_or_else(|| "a whole number from 1 is needed, such as 2^20 or 64Ki".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value >= 0.0 && value.is_finite());
    value.ok_or_else(|| "a number from 0 is needed, such as 1e-5".to_owned())
}

/// The command line once more, for flags of which a manifest has a part.
#[derive(Parser)]
#[command(name = "lanescope tune", args_override_self = true)]
struct Whole {
    #[command(flatten)]
    tune: Tune,
}

impl Tune {
    /// With what its manifest says; the command line's own flags win.
    ///
    /// # Errors
    /// A manifest that can't be read, and keys that are no flags.
    pub fn with_manifest(self, typed: impl Iterator<Item = OsString>) -> Result<Self, Error> {
        self.check_repeats()?;
        let Some(path) = &self.manifest else { return Ok(self) };
        let usage = |words: String| Error::Usage(format!("{}: {words}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| usage(error.to_string()))?;
        let table: Table = toml::from_str(&text).map_err(|error| usage(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let said = flags(&table, folder, self.shader.is_none()).map_err(usage)?;
        let all = std::iter::once(OsString::from("tune")).chain(said.into_iter().map(OsString::from)).chain(typed);
        Whole::try_parse_from(all).map(|whole| whole.tune).map_err(|error| usage(said_by(&error)))
    }

    /// Of two lists of one axis's values the latter would count without a word. Of macros and members the last counts, as with compilers.
    fn check_repeats(&self) -> Result<(), Error> {
        let parts =
            |text: &'_ str| text.split_once('=').map(|(name, values)| (name.trim().to_owned(), values.trim().to_owned()));
        let axes: Vec<(String, String)> = self.axis.iter().filter_map(|text| parts(text)).collect();
        for (i, (name, values)) in axes.iter().enumerate() {
            if let Some((_, earlier)) = axes[..i].iter().find(|(other, _)| other == name) {
                return Err(Error::Usage(format!(
                    "--axis gives `{name}` twice: give all its values at once, as in {name}={earlier},{values}"
                )));
            }
        }
        Ok(())
    }

    /// What it has in common with a run.
    pub fn as_run(&self) -> Run {
        Run {
            filters: vec![String::new()],
            device: self.device.iter().cloned().collect(),
            queue: self.queue,
            axis: Vec::new(),
            cases: None,
            output: self.output.clone(),
            format: self.format,
            preset: Some(self.preset),
            max_noise: self.max_noise,
            max_time: self.max_time,
            paired: false,
            cold: false,
            evict_bytes: None,
            seed: self.seed,
            dry_run: false,
            validation: self.validation,
            robust: self.robust,
            stats: self.stats,
            isa: None,
            timeout: self.timeout,
            first_timeout: self.first_timeout,
            processes: Some(self.processes),
            no_isolate: self.no_isolate,
            resume: self.resume.clone(),
            shard: None,
            samples: None,
            jobs: None,
            no_lock: self.no_lock,
            quiet: self.quiet,
            verbose: self.verbose,
        }
    }
}

/// The first line of what clap says, without its own prefix.
fn said_by(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Keys whose values are paths that count from the manifest's folder.
const PATHS: [&str; 7] = ["shader", "include", "preamble", "output", "resume", "save-table", "t4"];
/// Keys of flags that come as `NAME=VALUES`, which a table may hold.
const NAMED: [&str; 9] = ["axis", "constant", "shared", "define", "buffer", "image", "sampler", "push", "check"];

/// A manifest as flags. `wants_shader`: whether its shader counts.
fn flags(table: &Table, folder: &Path, wants_shader: bool) -> Result<Vec<String>, String> {
    let mut flags = Vec::new();
    for (key, value) in table {
        let place = |text: String| {
            // `-` is standard output.
            let is_path = PATHS.contains(&key.replace('_', "-").as_str()) && text != "-";
            if is_path { folder.join(&text).to_string_lossy().into_owned() } else { text }
        };
        if key == "manifest" {
            return Err("a manifest can't name another one".to_owned());
        }
        if key == "shader" {
            let Value::String(shader) = value else { return Err("`shader` is a path".to_owned()) };
            if wants_shader {
                flags.push(place(shader.clone()));
            }
            continue;
        }
        let flag = format!("--{}", key.replace('_', "-"));
        for text in texts(key, value)? {
            match text {
                Some(text) => flags.push(format!("{flag}={}", in_folder(key, &place(text), folder))),
                None => flags.push(flag.clone()),
            }
        }
    }
    Ok(flags)
}

/// What a fill or a reference says of files counts from the manifest's folder as well.
fn in_folder(key: &str, text: &str, folder: &Path) -> String {
    let joined = |path: &str| folder.join(path).to_string_lossy().into_owned();
    match key {
        "buffer" | "image" => match text.split_once(":file=") {
            Some((head, path)) => format!("{head}:file={}", joined(path)),
            None => text.to_owned(),
        },
        "reference" if folder.join(text).is_file() => joined(text),
        "reference" => {
            let one = |pair: &str| match pair.split_once('=') {
                Some((name, path)) if folder.join(path.trim()).is_file() => format!("{name}={}", joined(path.trim())),
                _ => pair.to_owned(),
            };
            text.split(',').map(one).collect::<Vec<_>>().join(",")
        }
        _ => text.to_owned(),
    }
}

/// The values of a key: one for each time that its flag is to come, none of which is a value where the flag has none.
fn texts(key: &str, value: &Value) -> Result<Vec<Option<String>>, String> {
    match value {
        Value::Boolean(true) => Ok(vec![None]),
        Value::Boolean(false) => Ok(Vec::new()),
        Value::Table(table) if NAMED.contains(&key) => {
            table.iter().map(|(name, value)| Ok(Some(format!("{name}={}", joined(value)?)))).collect()
        }
        Value::Table(_) => Err(format!("`{key}` takes no table")),
        Value::Array(values) if NAMED.contains(&key) || matches!(key, "restrict" | "include" | "output" | "ignore") => {
            values.iter().map(|value| text(value).map(Some)).collect()
        }
        value => Ok(vec![Some(joined(value)?)]),
    }
}

/// A value, or several separated by commas.
fn joined(value: &Value) -> Result<String, String> {
    match value {
        Value::Array(values) => Ok(values.iter().map(text).collect::<Result<Vec<_>, _>>()?.join(",")),
        value => text(value),
    }
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        other => Err(format!("a {} is neither a text nor a number", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifested(manifest: &str, typed: &[&str]) -> Result<Tune, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.toml");
        fs::write(&path, manifest).unwrap();
        let typed: Vec<OsString> = ["--manifest", path.to_str().unwrap()].iter().chain(typed).map(OsString::from).collect();
        let first = Whole::try_parse_from(std::iter::once(OsString::from("tune")).chain(typed.clone())).unwrap().tune;
        let tune = first.with_manifest(typed.into_iter()).map_err(|error| error.to_string())?;
        assert!(tune.shader.as_ref().is_some_and(|shader| shader.parent().is_some()));
        Ok(tune)
    }

    #[test]
    fn every_flag_has_its_key_and_the_command_line_wins() {
        let manifest = "
            shader = \"a.comp\"
            n = 4096
            threads = [\"n / 4\", 1]
            restrict = [\"TILE > 1\", \"n > TILE\"]
            max-noise = \"2%\"
            budget = 200
            idempotent = true
            validation = false
            axis = { TILE = [8, 16], local_size_x = \"32..1024:*2\" }
            buffer = [\"data=float[n]:random\"]
            image = { picture = \"rgba8[n, 4]\", other = \":file=texels.bin\" }
            sampler = { picture = [\"nearest\", \"repeat\"] }
            [define]
            UNROLL = [1, 2]
        ";
        let tune = manifested(manifest, &["--n", "64", "--axis", "WIDTH=1"]).unwrap();
        assert_eq!((tune.n, tune.budget, tune.max_noise), (64, Some(Budget::Count(200)), Some(0.02)));
        assert_eq!(tune.threads.as_deref(), Some("n / 4,1"));
        assert_eq!(tune.restrict, ["TILE > 1", "n > TILE"]);
        assert_eq!(tune.axis, ["TILE=8,16", "local_size_x=32..1024:*2", "WIDTH=1"]);
        assert_eq!(
            (&tune.define[..], &tune.buffer[..]),
            (&["UNROLL=1,2".to_owned()][..], &["data=float[n]:random".to_owned()][..])
        );
        assert_eq!((tune.image[1].as_str(), tune.sampler[0].as_str()), ("picture=rgba8[n, 4]", "picture=nearest,repeat"));
        assert!(tune.image[0].starts_with("other=:file=") && tune.image[0].ends_with("/texels.bin"), "{}", tune.image[0]);
        assert!(tune.idempotent && !tune.validation && tune.shader.is_some_and(|shader| shader.ends_with("a.comp")));
    }

    #[test]
    fn what_is_no_flag_is_named() {
        for (manifest, part) in [
            ("shader = \"a.comp\"\ntile = 3", "--tile"),
            ("shader = 3", "is a path"),
            ("shader = \"a\"\nn = { a = 1 }", "takes no table"),
            ("shader = \"a\"\nn = \"many\"", "2^20"),
            ("shader = ", "shader"),
            ("manifest = \"b\"", "another one"),
        ] {
            let error = manifested(manifest, &[]).unwrap_err();
            assert!(error.contains("kernel.toml") && error.contains(part), "{manifest}: {error}");
        }
    }
}
