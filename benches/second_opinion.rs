//! A second opinion on Lanescope's figures: the same works measured by an independent CUDA program, on one card, in one sitting.
//!
//! `cargo bench --bench second_opinion [-- --device N|NAME] [WORD...]` takes the works whose line has all of these words. It needs
//! nvcc (where `NVCC` says, on `PATH` or in `/usr/local/cuda/bin`), or with `--program` the CUDA program that `--build` made elsewhere.
//! It is a developer's tool, and no part of Lanescope.
//!
//! Both sides have as many processes, whose buffers lie elsewhere in each. Half of CUDA's come before Lanescope's and half after them,
//! so that a drift of clocks touches both. Of each work a line says both figures, how many times as fast as CUDA Lanescope is with
//! the ratio's 95 % interval, and a verdict: `same` (not slower by more than the margin, at 5 %), `slower` or `unclear`. The bench
//! fails where a work is slower, or has no figure on either side.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it found")]

#[path = "../tests/support/second_opinion.rs"]
mod judge;
#[path = "second_opinion/works.rs"]
mod works;

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Parser, ValueEnum};
use judge::{Answer, answer, process_times};
use lanescope::experiments::Setting;
use lanescope::model::{DeviceInfo, DeviceKind, Preset};
use lanescope::plan::{Plan, Planned, Request};
use lanescope::stats;
use lanescope::units::parse_share;
use works::{Figure, WORKS, Work};

/// The CUDA program.
const SOURCES: [(&str, &str); 8] = [
    ("main.cu", include_str!("second_opinion/main.cu")),
    ("common.cuh", include_str!("second_opinion/common.cuh")),
    ("cache.cuh", include_str!("second_opinion/cache.cuh")),
    ("library.cuh", include_str!("second_opinion/library.cuh")),
    ("memory.cuh", include_str!("second_opinion/memory.cuh")),
    ("peak.cuh", include_str!("second_opinion/peak.cuh")),
    ("products.cuh", include_str!("second_opinion/products.cuh")),
    ("within.cuh", include_str!("second_opinion/within.cuh")),
];

/// Digits of figures that are shown.
const DIGITS: i32 = 4;

/// Compares Lanescope's figures with those of a CUDA program.
#[derive(Debug, Parser)]
#[command(name = "second_opinion")]
struct Arguments {
    /// Take the works whose line has all of these words.
    words: Vec<String>,
    /// The command that measures Lanescope's side.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_lanescope"))]
    lanescope: PathBuf,
    /// The device, by its index or a part of its name; of --cuda-only always CUDA's first.
    #[arg(long)]
    device: Option<String>,
    /// Processes of each side.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    processes: u32,
    /// By how much Lanescope may be slower and still be the same.
    #[arg(long, default_value = "2%", value_parser = parse_share)]
    margin: f64,
    /// Measure Lanescope's side with `lanescope run --robust`; CUDA has nothing like it.
    #[arg(long)]
    robust: bool,
    /// Measure Lanescope's side on this queue family, as `lanescope run --queue` takes it.
    #[arg(long)]
    queue: Option<u32>,
    /// What CUDA's side prefers of the memory that the first cache and shared memory share.
    #[arg(long, value_enum, default_value_t = CarveOut::None)]
    carve_out: CarveOut,
    /// The CUDA program, already built: no nvcc is needed.
    #[arg(long, conflicts_with = "build")]
    program: Option<PathBuf>,
    /// Only build the CUDA program, to this file, for the card of --arch.
    #[arg(long)]
    build: Option<PathBuf>,
    /// What nvcc compiles for, such as sm_90.
    #[arg(long, default_value = "native")]
    arch: String,
    /// Say what would be measured.
    #[arg(long)]
    dry_run: bool,
    /// Leave Lanescope's side out.
    #[arg(long)]
    cuda_only: bool,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How the memory is divided that the first cache and shared memory share: a preference, which the driver need not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CarveOut {
    /// As the driver does it by itself.
    None,
    /// As much cache as possible.
    Cache,
    /// As much shared memory as possible.
    Shared,
    /// As much of either.
    Equal,
}

impl CarveOut {
    /// What the CUDA program calls it.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

fn main() -> ExitCode {
    match second_opinion(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn second_opinion(arguments: &Arguments) -> anyhow::Result<bool> {
    if let Some(file) = &arguments.build {
        let folder = tempfile::tempdir()?;
        return compile(folder.path(), file, &arguments.arch).map(|()| true);
    }
    let device = if arguments.cuda_only { None } else { Some(device(arguments)?) };
    let lines = lines(arguments, device.as_ref())?;
    ensure!(!lines.is_empty(), "no work has all of these words");
    if arguments.dry_run {
        for line in &lines {
            println!("{}: CUDA's `{}`, {}", line.name, line.work.cuda, line.planned());
        }
        return Ok(true);
    }
    let folder = tempfile::tempdir()?;
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => {
            let program = folder.path().join("cuda");
            compile(folder.path(), &program, &arguments.arch)?;
            program
        }
    };
    // A path without a folder would be looked for on PATH.
    let program = fs::canonicalize(&program).with_context(|| format!("--program {}", program.display()))?;
    let pci_address = pci_address(device.as_ref());
    let mut cuda = Cuda { program, pci_address, carve_out: arguments.carve_out.name(), times: HashMap::new() };
    let before = arguments.processes.div_ceil(2);
    (0..before).try_for_each(|process| cuda.run(process, &lines))?;
    let own = match &device {
        Some(device) => measure(arguments, device, &lines, folder.path())?,
        None => HashMap::new(),
    };
    (before..arguments.processes).try_for_each(|process| cuda.run(process, &lines))?;
    println!("{:32} {:>11} {:>11}         {:>7}  95 % interval     verdict", "work", "Lanescope", "CUDA", "ratio");
    let mut all = true;
    for line in &lines {
        all &= line.report(&own, &cuda, arguments)?;
    }
    Ok(all)
}

// ---- what is measured -----------------------------------------------------------------------------------------------------

/// A work of the CUDA program, and one case beside it.
struct Line {
    name: String,
    work: &'static Work,
    /// The case, or why there is none.
    case: Result<Planned, String>,
}

impl Line {
    /// What Lanescope would measure.
    fn planned(&self) -> String {
        match &self.case {
            Ok(case) => {
                let (name, variant) = (case.experiment.name(), case.variant);
                format!("Lanescope's {} {name}:{variant} {}", case.case_id, case.point)
            }
            Err(why) => format!("no case of Lanescope's: {why}"),
        }
    }
}

/// The device that is meant: without a name the first that isn't a processor, as `lanescope run` takes it.
fn device(arguments: &Arguments) -> anyhow::Result<DeviceInfo> {
    let asked = arguments.device.as_deref();
    if asked == Some("mock") {
        return Ok(DeviceInfo::mock());
    }
    let text = output(Command::new(&arguments.lanescope).args(["devices", "--json"]))?;
    let devices: Vec<DeviceInfo> = serde_json::from_str(&text).context("what `lanescope devices --json` tells")?;
    let lower = asked.map(str::to_lowercase);
    let index = asked.and_then(|asked| asked.parse().ok());
    let is_meant = |device: &&DeviceInfo| match &lower {
        // A number is an index, though it stands in many names.
        Some(_) if index.is_some() => index == Some(device.index),
        Some(asked) => device.name.to_lowercase().contains(asked),
        None => device.unusable.is_none() && device.kind != DeviceKind::Cpu,
    };
    let device = devices.iter().find(is_meant).cloned();
    device.with_context(|| format!("there is no such device: {}", asked.unwrap_or("a GPU")))
}

/// How CUDA finds the same card.
fn pci_address(device: Option<&DeviceInfo>) -> String {
    device.and_then(|device| device.pci_address).map_or_else(|| "-".to_owned(), |address| address.to_string())
}

/// The works that are asked for, each in its forms.
fn lines(arguments: &Arguments, device: Option<&DeviceInfo>) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for work in WORKS {
        // One side alone has no forms.
        let forms = if device.is_some() { work.forms } else { &work.forms[..1] };
        for (form, axes) in forms {
            let name =
                if form.is_empty() || device.is_none() { work.cuda.to_owned() } else { format!("{}, {form}", work.cuda) };
            if arguments.words.iter().all(|word| name.contains(word.as_str())) {
                let case =
                    device.map_or_else(|| Err("left out".to_owned()), |device| planned(work, axes, device, arguments.queue));
                lines.push(Line { name, work, case });
            }
        }
    }
    Ok(lines)
}

/// The case of a work in a form.
fn planned(work: &Work, form: &str, device: &DeviceInfo, queue: Option<u32>) -> Result<Planned, String> {
    let axes = work.axes.iter().copied().chain([form]).flat_map(str::split_whitespace).map(str::to_owned).collect();
    let request = Request { filters: vec![work.filter.to_owned()], axes, ..Request::default() };
    let setting = Setting { queue, device, preset: Preset::Default, seed: 1 };
    let plan = Plan::new(&request, setting).map_err(|error| error.to_string())?;
    plan.get(0).ok_or_else(|| "the plan is empty".to_owned())
}

// ---- Lanescope's side -----------------------------------------------------------------------------------------------------

/// A row: its columns by their names.
type Row = HashMap<String, String>;

/// Measures the cases in one run, and gives their rows by their ids.
fn measure(arguments: &Arguments, device: &DeviceInfo, lines: &[Line], folder: &Path) -> anyhow::Result<HashMap<String, Row>> {
    let [cases, rows] = ["cases.csv", "rows.csv"].map(|name| folder.join(name));
    let mut list = csv::Writer::from_path(&cases)?;
    list.write_record(["case_id", "experiment", "variant", "axis_values"])?;
    let planned: Vec<&Planned> = lines.iter().filter_map(|line| line.case.as_ref().ok()).collect();
    if planned.is_empty() {
        return Ok(HashMap::new());
    }
    for case in planned {
        list.write_record([&case.case_id, case.experiment.name(), case.variant, &case.point.to_string()])?;
    }
    list.flush()?;
    let index = if arguments.device.as_deref() == Some("mock") { "mock".to_owned() } else { device.index.to_string() };
    let mut command = Command::new(&arguments.lanescope);
    command.args(["run", "--preset", "study", "-q", "--device", &index, "--processes", &arguments.processes.to_string()]);
    command.args(arguments.robust.then_some("--robust"));
    command.args(arguments.queue.into_iter().flat_map(|queue| ["--queue".to_owned(), queue.to_string()]));
    let status = command.arg("--cases").arg(&cases).arg("-o").arg(&rows).stdin(Stdio::null()).status();
    let status = status.with_context(|| arguments.lanescope.display().to_string())?;
    // A run in which some case failed says so by its exit code, and has rows none the less.
    ensure!(rows.exists(), "`lanescope run` ended with {status} and wrote no rows");
    let mut reader = csv::Reader::from_path(&rows)?;
    let mut by_id = HashMap::new();
    for row in reader.deserialize() {
        let row: Row = row?;
        by_id.insert(row.get("case_id").cloned().unwrap_or_default(), row);
    }
    Ok(by_id)
}

/// The times of a unit of work in each process, or why there is none.
fn own_times(row: Option<&Row>, figure: &Figure) -> Result<Vec<f64>, String> {
    let row = row.ok_or("it has no row")?;
    let cell = |column: &str| row.get(column).map(String::as_str).unwrap_or_default();
    if cell("status") != "ok" {
        return Err(format!("{}: {}", cell("status"), cell("reason")));
    }
    let units: f64 = cell(figure.column).parse().map_err(|_| format!("its row has no {}", figure.column))?;
    let times: Vec<f64> = process_times(cell("round_medians_ns")).iter().map(|ns| ns / units).collect();
    if times.is_empty() { Err("its row has no round_medians_ns".to_owned()) } else { Ok(times) }
}

// ---- CUDA's side ----------------------------------------------------------------------------------------------------------

/// The CUDA program, and what it said.
struct Cuda {
    program: PathBuf,
    pci_address: String,
    carve_out: String,
    /// The times of a unit of work in each process, or why there is none, by the work's name.
    times: HashMap<String, Result<Vec<f64>, String>>,
}

impl Cuda {
    /// Runs all works in a process.
    fn run(&mut self, process: u32, lines: &[Line]) -> anyhow::Result<()> {
        let mut names: Vec<&str> = lines.iter().map(|line| line.work.cuda).collect();
        names.dedup();
        let mut command = Command::new(&self.program);
        command.args([&process.to_string(), &self.pci_address, &self.carve_out]).args(names);
        let text = output(&mut command)?;
        for (name, answer) in text.lines().filter_map(answer) {
            let times = self.times.entry(name.to_owned()).or_insert_with(|| Ok(Vec::new()));
            match (times.as_mut(), answer) {
                (Ok(times), Answer::Measured { ns, units }) => times.push(ns / units),
                // One wrong result is one too many.
                (Ok(_), Answer::Failed(why)) => *times = Err(why),
                (Err(_), _) => {}
            }
        }
        Ok(())
    }

    fn times(&self, work: &Work) -> Result<Vec<f64>, String> {
        self.times.get(work.cuda).cloned().unwrap_or_else(|| Err("the program said nothing of it".to_owned()))
    }
}

/// Compiles the CUDA program, in a folder of its own.
fn compile(folder: &Path, program: &Path, arch: &str) -> anyhow::Result<()> {
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    let nvcc = nvcc().ok_or_else(|| {
        anyhow!("nvcc is nowhere: install the CUDA toolkit, or set NVCC to its compiler, or give --program what --build made")
    })?;
    let mut command = Command::new(&nvcc);
    command.args(["-std=c++17", "-O3", "--extended-lambda", &format!("-arch={arch}"), "-o"]).arg(program);
    command.arg(folder.join("main.cu"));
    if has_cublas(&nvcc) {
        command.args(["-DHAS_CUBLAS", "-lcublas"]);
    }
    output(&mut command).map(drop)
}

/// Whether the library of matrix products came with this compiler.
fn has_cublas(nvcc: &Path) -> bool {
    let nvcc = fs::canonicalize(nvcc).unwrap_or_else(|_| nvcc.to_owned());
    let toolkit = nvcc.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    ["include", "targets/x86_64-linux/include"].iter().any(|folder| toolkit.join(folder).join("cublas_v2.h").is_file())
}

/// Where nvcc is.
fn nvcc() -> Option<PathBuf> {
    let named = env::var_os("NVCC").map(PathBuf::from);
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let usual = PathBuf::from("/usr/local/cuda/bin");
    let files = folders.into_iter().chain([usual]).map(|folder| folder.join(format!("nvcc{}", env::consts::EXE_SUFFIX)));
    named.into_iter().chain(files).find(|file| file.is_file())
}

/// What a command prints; its own words go to the terminal.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_owned();
    let name = Path::new(&name).display();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().with_context(|| name.to_string())?;
    if !output.status.success() {
        bail!("{name} ended with {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

// ---- what is printed ------------------------------------------------------------------------------------------------------

impl Line {
    /// Prints the work's line; whether all is well.
    fn report(&self, own: &HashMap<String, Row>, cuda: &Cuda, arguments: &Arguments) -> anyhow::Result<bool> {
        let figure = &self.work.figure;
        let cuda = cuda.times(self.work);
        let own = match &self.case {
            Ok(case) => own_times(own.get(&case.case_id), figure),
            Err(why) => Err(why.clone()),
        };
        let shown = |times: &Result<Vec<f64>, String>| {
            times.as_ref().map_or_else(|_| "-".to_owned(), |times| digits(figure.of(stats::median(times))))
        };
        print!("{:32} {:>11} {:>11} {:7} ", self.name, shown(&own), shown(&cuda), figure.unit);
        match (&own, &cuda) {
            (Ok(own), Ok(cuda)) => {
                let judged = judge::judge(own, cuda, arguments.margin).context("both sides have times")?;
                let interval = judged.interval.map(|interval| format!("[{:.4}, {:.4}]", interval.low, interval.high));
                println!("{:7.4}  {:16}  {}", judged.ratio, interval.unwrap_or_default(), judged.verdict);
                Ok(judged.verdict != "slower")
            }
            (_, Err(why)) => {
                println!("CUDA: {why}");
                Ok(false)
            }
            (Err(_), Ok(_)) if arguments.cuda_only => {
                println!();
                Ok(true)
            }
            (Err(why), Ok(_)) => {
                println!("Lanescope: {why}");
                Ok(false)
            }
        }
    }
}

/// A figure with a few digits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a figure has few digits before its point")]
fn digits(value: f64) -> String {
    let before = value.abs().log10().floor() as i32 + 1;
    format!("{value:.*}", (DIGITS - before).max(0) as usize)
}
