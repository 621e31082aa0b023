//! Does `lanescope tune` find what a thorough run of every configuration confirms?
//!
//! `cargo bench --bench confirm -- [OPTIONS] [SHADER...] [-- FLAGS of every tune...]` takes each shader of `tests/tune` that has a
//! manifest beside it, and each device, and runs the command
//!
//! - `race`: as a user does who says nothing;
//! - `each`: every configuration at the default precision, with no race: what racing saves is counted against it;
//! - `thorough`: every configuration at the precision of `--preset thorough`, with no race: the judge.
//!
//! **The rule.** The answer of `race` is its fastest configuration of those that were measured to the end. It is looked up in the
//! rows of `thorough`, whose times alone count. It is confirmed where it is the fastest there as well (`same`), where its time lies
//! within the 95 % interval of the fastest (`within`), or where its own 95 % interval reaches down into that one (`tied`). It is not
//! where its whole interval lies above (`slower`), nor where it has no time there (`failed`), nor where the interval that would
//! confirm it is wider than 10 % of its time to either side, so that nearly anything would lie within (`vague`: a quieter machine, or
//! longer times by `-- --max-time`).
//! Besides, a shader of which `confirm.toml` says so has to have rows of `wrong_result` in every run, and no other may have one.
//!
//! Prints a table, writes a row for each run to `--output`, and fails unless every answer is confirmed. The executable needs nothing
//! of the source tree where `--lanescope` names the command and `--shaders` the folder.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it found")]

#[path = "../tests/support/confirmed.rs"]
mod confirmed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::{Parser, ValueEnum};
use confirmed::{Configuration, Confirmation, Effort, Time, best, confirm, count};
use lanescope::model::Status;
use lanescope::record::{Reader, Record};
use lanescope::tuning::search::Strategy;
use toml::{Table, Value};

/// The run that judges the others.
const THOROUGH: &str = "thorough";

/// What is asked for.
#[derive(Parser)]
struct Request {
    /// Shaders by their files' names without endings (default: all that have a manifest)
    shaders: Vec<String>,

    /// Devices, as `lanescope tune` takes them
    #[arg(short, long, value_name = "INDEX|NAME|UUID", default_value = "0")]
    device: Vec<String>,

    /// How large the problems are: as the manifests say, or small enough for a software driver
    #[arg(long, value_enum, default_value = "full")]
    scale: Scale,

    /// Run every strategy that adapts as well, and say how far its answer is from the thorough best
    #[arg(long)]
    strategies: bool,

    /// What each of these strategies may try (default: a fifth of the space, at least 16)
    #[arg(long, value_name = "COUNT")]
    budget: Option<usize>,

    /// Leave out `each`: racing is compared with the thorough run alone
    #[arg(long)]
    no_each: bool,

    /// The command
    #[arg(long, value_name = "PATH", default_value = env!("CARGO_BIN_EXE_lanescope"))]
    lanescope: PathBuf,

    /// The folder of the shaders
    #[arg(long = "shaders", value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tune"))]
    folder: PathBuf,

    /// Write a row for each run to this CSV file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep the rows of each run in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,

    /// As cargo bench has it
    #[arg(long, hide = true)]
    bench: bool,

    /// Flags of every `lanescope tune`
    #[arg(last = true)]
    flags: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scale {
    Small,
    Full,
}

fn main() -> ExitCode {
    match Bench::new(Request::parse()).and_then(|mut bench| bench.run()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A run of the command that has ended.
struct Run {
    name: &'static str,
    rows: Vec<Record>,
    effort: Effort,
    /// From the command's start to its end, s.
    wall: f64,
}

impl Run {
    /// Configurations a second, the device's opening and the reference included.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
    fn pace(&self) -> f64 {
        self.effort.tried as f64 / self.wall
    }

    fn best(&self) -> anyhow::Result<(Configuration, Time)> {
        best(&self.rows).with_context(|| format!("{}: no configuration has a time", self.name))
    }
}

struct Bench {
    request: Request,
    /// `confirm.toml`.
    known: Table,
    /// Where rows of runs go, and what keeps that folder as long as it is needed.
    folder: PathBuf,
    _temporary: Option<tempfile::TempDir>,
    output: Option<csv::Writer<fs::File>>,
}

impl Bench {
    fn new(request: Request) -> anyhow::Result<Self> {
        let path = request.folder.join("confirm.toml");
        let known = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).with_context(|| path.display().to_string())?,
            Err(_) => Table::new(),
        };
        let temporary = if request.keep.is_none() { Some(tempfile::tempdir()?) } else { None };
        let folder = temporary.as_ref().map(|folder| folder.path().to_owned()).or(request.keep.clone()).context("no folder")?;
        fs::create_dir_all(&folder)?;
        let open = |path: &PathBuf| csv::Writer::from_path(path).with_context(|| path.display().to_string());
        let mut output = request.output.as_ref().map(open).transpose()?;
        output.as_mut().map(|output| output.write_record(COLUMNS)).transpose()?;
        Ok(Self { request, known, folder, _temporary: temporary, output })
    }

    /// Whether all answers are confirmed.
    fn run(&mut self) -> anyhow::Result<bool> {
        let shaders = self.shaders()?;
        let mut missed = Vec::new();
        for device in self.request.device.clone() {
            for shader in &shaders {
                match self.confirm(&device, shader) {
                    Ok(true) => {}
                    Ok(false) => missed.push(format!("{shader} on {device}")),
                    // The others may well be.
                    Err(error) => {
                        println!("{shader}: {error:#}\n");
                        missed.push(format!("{shader} on {device}"));
                    }
                }
            }
        }
        match missed.as_slice() {
            [] => println!("Every answer is confirmed."),
            missed => println!("Not confirmed: {}.", missed.join(", ")),
        }
        Ok(missed.is_empty())
    }

    fn shaders(&self) -> anyhow::Result<Vec<String>> {
        let folder = &self.request.folder;
        let is_there = |name: &String| folder.join(format!("{name}.toml")).is_file() && name != "confirm";
        if let Some(name) = self.request.shaders.iter().find(|name| !is_there(name)) {
            bail!("there is no manifest {name}.toml in {}", folder.display());
        }
        if !self.request.shaders.is_empty() {
            return Ok(self.request.shaders.clone());
        }
        let files = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let files = files.filter_map(|file| file.ok()?.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        let mut names: Vec<String> = files.filter(is_there).collect();
        names.sort();
        names.dedup();
        ensure!(!names.is_empty(), "there is no manifest in {}", folder.display());
        Ok(names)
    }

    /// Words that `confirm.toml` has for a shader.
    fn words(&self, shader: &str, key: &str) -> Vec<String> {
        let value = self.known.get(shader).and_then(|own| own.get(key)).and_then(Value::as_array);
        value.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    }

    fn confirm(&mut self, device: &str, shader: &str) -> anyhow::Result<bool> {
        const EXHAUSTIVE: [&str; 3] = ["--no-race", "--strategy", "exhaustive"];
        let race = self.tune(device, shader, "race", &[])?;
        let each = if self.request.no_each { None } else { Some(self.tune(device, shader, "each", &EXHAUSTIVE)?) };
        let longer = if self.request.scale == Scale::Small { self.words("small", "thorough") } else { Vec::new() };
        let longer: Vec<&str> = ["--preset", "thorough"].into_iter().chain(longer.iter().map(String::as_str)).collect();
        let thorough = self.tune(device, shader, THOROUGH, &[&EXHAUSTIVE, &longer[..]].concat())?;
        let mut runs: Vec<Run> = [Some(race), each, Some(thorough)].into_iter().flatten().collect();
        if self.request.strategies {
            runs.extend(self.strategies(device, shader, runs[0].effort.configurations)?);
        }
        self.judge(device, shader, &runs)
    }

    fn strategies(&self, device: &str, shader: &str, configurations: usize) -> anyhow::Result<Vec<Run>> {
        let budget = self.request.budget.unwrap_or((configurations / 5).max(16)).to_string();
        let adaptive = Strategy::ALL.iter().filter(|strategy| **strategy != Strategy::Exhaustive);
        let run = |strategy: &Strategy| {
            self.tune(device, shader, strategy.as_str(), &["--strategy", strategy.as_str(), "--budget", &budget])
        };
        adaptive.map(run).collect()
    }

    fn tune(&self, device: &str, shader: &str, name: &'static str, flags: &[&str]) -> anyhow::Result<Run> {
        let place: String = device.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let out = self.folder.join(format!("{shader}-{place}-{name}.csv"));
        let mut command = Command::new(&self.request.lanescope);
        command.arg("tune").arg("--manifest").arg(self.request.folder.join(format!("{shader}.toml")));
        command.args(["-d", device, "-o"]).arg(&out);
        if self.request.scale == Scale::Small {
            command.args(self.words("small", "tune")).args(self.words(shader, "small"));
        }
        command.args(flags).args(&self.request.flags);
        let started = Instant::now();
        let ended = command.output().with_context(|| self.request.lanescope.display().to_string())?;
        let wall = started.elapsed().as_secs_f64();
        let printed = [&ended.stdout, &ended.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
        ensure!(ended.status.success(), "{command:?}: {}:\n{printed}", ended.status);
        let rows = Reader::open(Path::new(&out))?.collect::<Result<_, _>>()?;
        Ok(Run { name, rows, effort: Effort::read(&printed)?, wall })
    }

    // ---- what is told -----------------------------------------------------------------------------------------------------

    /// Prints a table of the runs, and whether the first of them has the answer.
    fn judge(&mut self, device: &str, shader: &str, runs: &[Run]) -> anyhow::Result<bool> {
        let thorough = runs.iter().find(|run| run.name == THOROUGH).context("there is no thorough run")?;
        let first = thorough.rows.first().context("the thorough run has no row")?;
        println!("{} ({}), {shader}: {} configurations", first.device_name, device, thorough.effort.configurations);
        println!(
            "  {:14}{:>6}{:>9}{:>8}{:>9}{:>9}{:>7}{:>7}{:>9}{:>20}  {:9}{:>7}  best",
            "run", "tried", "samples", "x race", "wall s", "per s", "wrong", "other", "gain", "time us", "verdict", "over"
        );
        for run in runs {
            let (own, time) = run.best()?;
            let confirmation = confirm(&own, &thorough.rows)?;
            print_run(run, runs[0].effort.samples, (&own, time), &confirmation);
            if let Some(output) = &mut self.output {
                let scale = if self.request.scale == Scale::Small { "small" } else { "full" };
                output.write_record(cells(first, [shader, scale], run, (&own, time), &confirmation))?;
                output.flush()?;
            }
        }
        let confirmation = confirm(&runs[0].best()?.0, &thorough.rows)?;
        let wrong = self.wrong(shader, runs);
        wrong.iter().for_each(|fault| println!("  {fault}"));
        let is_confirmed = confirmation.verdict.is_confirmed() && wrong.is_empty();
        println!("  {}: {:?}\n", if is_confirmed { "confirmed" } else { "NOT confirmed" }, confirmation.verdict);
        Ok(is_confirmed)
    }

    /// Runs in which results are wrong that aren't to be, or none are that are.
    fn wrong(&self, shader: &str, runs: &[Run]) -> Vec<String> {
        let has = self.known.get(shader).and_then(|own| own.get("wrong")).and_then(Value::as_bool).unwrap_or(false);
        let is_off =
            |run: &&Run| run.effort.tried == run.effort.configurations && has != (count(&run.rows, Status::WrongResult) > 0);
        let words = if has { "has no wrong result, though some are wrong" } else { "has wrong results, though none is wrong" };
        runs.iter().filter(is_off).map(|run| format!("{} {words}", run.name)).collect()
    }
}

/// What a row of `--output` has.
const COLUMNS: [&str; 26] = [
    "device_name",
    "driver",
    "shader",
    "scale",
    "run",
    "configurations",
    "tried",
    "samples",
    "seconds",
    "wall_s",
    "configurations_per_s",
    "wrong_result",
    "failed",
    "gain",
    "best",
    "time_ns",
    "ci_low_ns",
    "ci_high_ns",
    "thorough_time_ns",
    "thorough_best",
    "thorough_best_ns",
    "thorough_best_ci_low_ns",
    "thorough_best_ci_high_ns",
    "over",
    "verdict",
    "reason",
];

fn cells(
    device: &Record,
    [shader, scale]: [&str; 2],
    run: &Run,
    (own, time): (&Configuration, Time),
    confirmation: &Confirmation,
) -> [String; 26] {
    let Effort { tried, configurations, samples, seconds, gain } = run.effort;
    let driver = format!("{} {}", device.driver_name, device.driver_info);
    let (wrong, failed) = failures(run);
    let Confirmation { best, best_time, time: thorough, verdict } = confirmation;
    let real = |number: f64| number.to_string();
    let optional = |number: Option<f64>| number.map(real).unwrap_or_default();
    let reason = if let confirmed::Verdict::Failed(reason) = verdict { reason.clone() } else { String::new() };
    [
        device.device_name.clone(),
        driver,
        shader.to_owned(),
        scale.to_owned(),
        run.name.to_owned(),
        configurations.to_string(),
        tried.to_string(),
        samples.to_string(),
        real(seconds),
        real(run.wall),
        real(run.pace()),
        wrong.to_string(),
        failed.to_string(),
        optional(gain),
        named(own),
        real(time.time),
        real(time.low),
        real(time.high),
        optional(thorough.map(|thorough| thorough.time)),
        named(best),
        real(best_time.time),
        real(best_time.low),
        real(best_time.high),
        optional(confirmation.over()),
        verdict.as_str().to_owned(),
        reason,
    ]
}

/// Rows of wrong results, and of other failures.
fn failures(run: &Run) -> (usize, usize) {
    let failed = run.rows.iter().filter_map(|row| Status::named(&row.status)).filter(|status| status.is_failure()).count();
    let wrong = count(&run.rows, Status::WrongResult);
    (wrong, failed - wrong)
}

#[expect(clippy::cast_precision_loss, reason = "samples are few")]
fn print_run(run: &Run, race: usize, (own, time): (&Configuration, Time), confirmation: &Confirmation) {
    let Effort { tried, samples, gain, .. } = run.effort;
    let (wrong, failed) = failures(run);
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"));
    println!(
        "  {:14}{tried:>6}{samples:>9}{:>8.2}{:>9.1}{:>9.1}{wrong:>7}{failed:>7}{:>9}{:>20}  {:9}{:>7}  {}",
        run.name,
        samples as f64 / race.max(1) as f64,
        run.wall,
        run.pace(),
        number(gain),
        format!("{:.3} ±{:.1}%", time.time / 1e3, time.noise() * 100.0),
        confirmation.verdict.as_str(),
        number(confirmation.over()),
        named(own),
    );
}

/// A configuration in words, without the problem's size.
fn named(configuration: &Configuration) -> String {
    let axes = configuration.iter().filter(|(axis, _)| *axis != "n");
    axes.map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(" ")
}
