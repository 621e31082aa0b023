//! The program: it runs as it would without us, and its output, exit code and signals are its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::layer::Variables;
use crate::cli::args::capture::{Capture, TimingChoice};
use crate::error::Error;
use crate::model::{Shown, name_text};
use crate::platform;
use crate::regular::{self, Kind};

/// The layer's files, which this run's own programs wrote.
pub const LOG: Kind = Kind { what: "what the layer wrote", largest: 1 << 34, may_stream: false };

/// Parts of the names of libraries that programs have in memory which use Vulkan: loaders, most drivers, and a part of NVIDIA's, whose
/// driver is one for OpenGL as well.
const OF_VULKAN: [&str; 2] = ["vulkan", "glvkspirv"];

/// How often the program is looked at.
const STEP: Duration = Duration::from_millis(50);
/// How long it may take to end once it was asked to.
const LAST: Duration = Duration::from_secs(5);

/// How a program ended, and what was seen of it.
pub struct Ended {
    pub status: ExitStatus,
    /// Whether it, or one that it started, had a Vulkan loader or driver in its memory.
    pub had_vulkan: bool,
    pub took: Duration,
}

/// How the layer is loaded, and what it does.
#[derive(Clone, Debug)]
pub struct Setting {
    pub layer: Variables,
    /// Names the kernels whose contents are copied; nothing is timed then.
    pub contents: Option<PathBuf>,
}

/// Starts it with the layer, and waits for its end.
///
/// # Errors
/// Why it can't be started.
pub fn run(typed: &Capture, setting: &Setting, logs: &Path) -> anyhow::Result<Ended> {
    let mut command = with_layer(typed, setting, logs)?;
    let began = Instant::now();
    let mut child = started(&mut command)?;
    let mut watched = Watched {
        typed,
        logs,
        takes_contents: setting.contents.is_some(),
        read: BTreeMap::new(),
        first: None,
        asked: None,
        had_vulkan: false,
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended { status, had_vulkan: watched.had_vulkan, took: began.elapsed() });
        }
        watched.look(&mut child)?;
        thread::sleep(STEP);
    }
}

fn with_layer(typed: &Capture, setting: &Setting, logs: &Path) -> Result<Command, Error> {
    let mut command = command(typed)?;
    for (name, value) in &setting.layer {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let timing = match typed.timing {
        _ if setting.contents.is_some() => "none",
        TimingChoice::Isolated => "isolated",
        TimingChoice::Overlapped => "overlapped",
        TimingChoice::None => "none",
    };
    let number = |number: Option<String>| number.unwrap_or_default();
    let seconds = typed.seconds.map(|time| time.as_secs_f64().to_string());
    let part = format!("{},{},{}", typed.after, number(typed.submissions.map(|count| count.to_string())), number(seconds));
    command.env("LANESCOPE_CAPTURE_FOLDER", logs);
    command.env("LANESCOPE_CAPTURE_TIMING", timing);
    command.env("LANESCOPE_CAPTURE_PART", part);
    if let Some(order) = &setting.contents {
        command.env("LANESCOPE_CAPTURE_KERNELS", order);
    }
    Ok(command)
}

/// How long it takes without the layer.
pub fn alone(typed: &Capture) -> anyhow::Result<Duration> {
    let began = Instant::now();
    started(&mut command(typed)?)?.wait()?;
    Ok(began.elapsed())
}

fn command(typed: &Capture) -> Result<Command, Error> {
    let [program, arguments @ ..] = &typed.command[..] else { return Err(Error::Usage("no program is named".to_owned())) };
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn started(command: &mut Command) -> Result<Child, Error> {
    let started = platform::pass_signals_to(|| command.spawn());
    started.map_err(|error| Error::Usage(format!("can't start {}: {error}", name_text(command.get_program()))))
}

struct Watched<'t> {
    typed: &'t Capture,
    logs: &'t Path,
    takes_contents: bool,
    /// Of each of the layer's files, up to where it was read, and the submissions until there.
    read: BTreeMap<PathBuf, (u64, BTreeSet<String>)>,
    /// When the first submission was seen, and when the program was asked to end.
    first: Option<Instant>,
    asked: Option<Instant>,
    had_vulkan: bool,
}

impl Watched<'_> {
    fn look(&mut self, child: &mut Child) -> io::Result<()> {
        self.had_vulkan |= !self.had_vulkan && OF_VULKAN.iter().any(|name| platform::has_mapped(child.id(), name));
        if let Some(asked) = self.asked {
            if asked.elapsed() > LAST {
                child.kill()?;
            }
        } else if self.typed.then_stop && self.is_enough() {
            platform::ask_to_end(child)?;
            self.asked = Some(Instant::now());
        }
        Ok(())
    }

    /// Whether all was captured that was asked for.
    fn is_enough(&mut self) -> bool {
        let submissions = self.submissions();
        if submissions > 0 {
            self.first.get_or_insert_with(Instant::now);
        }
        // Which dispatches are taken is told by their places in the whole program.
        let before = if self.takes_contents { self.typed.after } else { 0 };
        let is_late = || self.typed.seconds.zip(self.first).is_some_and(|(most, first)| first.elapsed() >= most);
        self.typed.submissions.is_some_and(|most| submissions >= most.saturating_add(before)) || is_late()
    }

    /// Submissions of which something was written. Only what is new is read: the program is being timed.
    fn submissions(&mut self) -> u64 {
        let paths = fs::read_dir(self.logs).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        for path in paths.filter(|path| path.extension().is_some_and(|end| end == "log")) {
            let (at, seen) = self.read.entry(path.clone()).or_default();
            let Ok(mut file) = regular::open(&path, LOG) else { continue };
            let mut new = Vec::new();
            if file.seek(SeekFrom::Start(*at)).and_then(|_| file.read_to_end(&mut new)).is_err() {
                continue;
            }
            // The rest of a line that is being written comes next time.
            new.truncate(new.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
            *at += new.len() as u64;
            let text = String::from_utf8_lossy(&new);
            let times = text.lines().filter_map(|line| line.strip_prefix("times\t"));
            seen.extend(times.filter_map(|line| line.split('\t').next().map(str::to_owned)));
        }
        self.read.values().map(|(_, seen)| seen.len() as u64).sum()
    }
}

/// How it ended, in words; nothing where that was as it should be.
pub fn end_in_words(status: ExitStatus, program: &Path) -> Option<String> {
    (!status.success()).then(|| format!("{} ended with {status}", program.shown()))
}
