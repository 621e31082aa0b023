//! Progress and words for the person who waits, on the error stream.

use std::collections::HashSet;
use std::fmt;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::page::Page;
use super::people;
use super::tone::in_a_line;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// No progress, no notes.
    Quiet,
    /// Progress where the error stream is a terminal, and notes.
    #[default]
    Normal,
    Verbose,
}

/// How many steps of the bar a case is: one for loading it, one for each of the rounds that every case is visited in, one for its
/// end. Cases of a block end together, so counting only those would let the bar stand still for most of a run.
const STEPS: u64 = 8;

/// Words, and bars drawn below them, only on a terminal. A clone speaks to the same person.
#[derive(Clone, Debug)]
pub struct Progress {
    bars: MultiProgress,
    mode: Mode,
    said: Arc<Mutex<HashSet<String>>>,
}

/// A bar of cases done, with the time left and the current case.
///
/// It is redrawn when the run tells it something, never by a thread of its own: on a CPU device that thread would run beside
/// the kernel that is being timed.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    label: String,
    total: u64,
    /// What it counts.
    unit: &'static str,
    done: AtomicU64,
}

impl Progress {
    pub fn new(mode: Mode) -> Self {
        let shown = mode > Mode::Quiet && io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { bars: MultiProgress::with_draw_target(target), mode, said: Arc::default() }
    }

    /// A bar over `total` cases. A label tells it from others; it may be empty.
    pub fn bar(&self, label: &str, total: u64) -> Bar {
        let bar = self.bars.add(ProgressBar::new(total.saturating_mul(STEPS)));
        let style = ProgressStyle::with_template("{bar:24} {left}{prefix}  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left));
        let label = if label.is_empty() { String::new() } else { format!("{}: ", in_a_line(label)) };
        let bar = Bar { bar, label, total, unit: "cases", done: AtomicU64::new(0) };
        bar.advance(0);
        bar
    }

    /// Says a line, unless quiet: a warning, or what is about to happen. Once: each process, block and device may have the same to say.
    pub fn note(&self, line: &str) {
        if self.mode > Mode::Quiet {
            self.say_once(line);
        }
    }

    /// Says a line, quiet or not, that hasn't been said. Empty ones part what stands around them.
    pub fn say_once(&self, line: &str) {
        let is_new = || self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(line.to_owned());
        if line.is_empty() || is_new() {
            self.answer(line);
        }
    }

    /// What the user should know, a line each.
    pub fn notes(&self, notes: impl IntoIterator<Item: Display>) {
        notes.into_iter().for_each(|note| self.note(&format!("note: {note}")));
    }

    /// Says a line of what was asked for, quiet or not.
    pub fn answer(&self, line: &str) {
        self.bars.suspend(|| people::say(line));
    }

    /// The same of a line with tones, which the page of the error stream shows or not.
    pub fn toned_answer(&self, line: &str) {
        self.bars.suspend(|| people::say_toned(line, Page::stderr()));
    }

    /// Says a line that only `-v` asks for.
    pub fn detail(&self, line: &str) {
        if self.mode == Mode::Verbose {
            self.answer(line);
        }
    }

    /// Does something that prints, with the bars out of its way: rows, the last ones included, may go to the same terminal.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bars.suspend(print)
    }
}

impl Bar {
    /// Without the time left, where cases take very different times.
    pub fn untimed(self) -> Self {
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {prefix}  {wide_msg}") {
            self.bar.set_style(style);
        }
        self
    }

    /// The same bar, of something else than cases.
    pub fn of(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self.advance(0);
        self
    }

    /// Counts all as done but these; there may be more of them than at first.
    pub fn keep_left(&self, left: u64) {
        self.advance(self.total.saturating_sub(left).saturating_sub(self.done.load(Ordering::Relaxed)));
    }

    pub fn start(&self, case: &str) {
        self.bar.set_message(in_a_line(case));
    }

    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Counts `cases` more as done.
    pub fn advance(&self, cases: u64) {
        let done = self.done.fetch_add(cases, Ordering::Relaxed) + cases;
        self.bar.set_prefix(format!("{}{done}/{} {}", self.label, self.total, self.unit));
        // Never backwards, and never behind the cases that are done.
        self.bar.set_position(self.bar.position().max(done.saturating_mul(STEPS)));
    }
}

/// How far it is and the time left, once a step has told how long steps take.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    // The bar shows without it as well.
    let _ = write!(out, "{:.0} %, ", 100.0 * state.fraction());
    if let Some(left) = time_left(state.elapsed(), state.fraction().into()) {
        let _ = write!(out, "{:#} left, ", HumanDuration(left));
    }
}

/// What is left if the rest goes on as all so far did. What went last says less: cases are loaded fast, then visited slowly.
fn time_left(elapsed: Duration, done: f64) -> Option<Duration> {
    (done > 0.0).then(|| elapsed.mul_f64((1.0 / done - 1.0).clamp(0.0, 1e6)))
}

/// However the run ends, the terminal is left clean.
impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let left = |done: f64| time_left(Duration::from_secs(10), done);
        assert_eq!((left(0.0), left(0.25), left(1.0)), (None, Some(Duration::from_secs(30)), Some(Duration::ZERO)));
    }

    #[test]
    fn it_counts_unseen_as_well() {
        let progress = Progress::new(Mode::Quiet);
        let bar = progress.bar("mock", 10);
        bar.start("memory/stream n=4");
        bar.advance(3);
        assert_eq!((bar.bar.position(), bar.bar.is_hidden()), (3 * STEPS, true));
        bar.step();
        bar.advance(1);
        assert_eq!(bar.bar.position(), 4 * STEPS);
        assert_eq!(progress.suspend(|| 7), 7);
    }
}
