//! Progress and words for the person who waits, on the error stream.

use std::cell::Cell;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// No progress, no notes.
    Quiet,
    /// Progress where the error stream is a terminal, and notes.
    #[default]
    Normal,
    /// Details as well.
    Verbose,
}

/// How many steps of the bar a case is: one for loading it, one for each of the rounds that every case is visited in, one for its
/// end. Cases of a block end together, so counting only those would let the bar stand still for most of a run.
const STEPS: u64 = 8;

/// A bar of cases done, with the time left and the current case; drawn only on a terminal.
///
/// It is redrawn when the run tells it something, never by a thread of its own: on a CPU device that thread would run beside
/// the kernel that is being timed.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    mode: Mode,
    total: u64,
    done: Cell<u64>,
}

impl Progress {
    /// Progress over `total` cases.
    pub fn new(total: u64, mode: Mode) -> Self {
        let shown = mode > Mode::Quiet && total > 0 && io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total.saturating_mul(STEPS)), target);
        let style = ProgressStyle::with_template("{bar:24} {prefix}{left}  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left));
        let progress = Self { bar, mode, total, done: Cell::new(0) };
        progress.advance(0);
        progress
    }

    /// Names what is being measured now.
    pub fn start(&self, case: &str) {
        self.bar.set_message(case.to_owned());
    }

    /// Moves the bar: a case was loaded, or visited once.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Counts `cases` more as done.
    pub fn advance(&self, cases: u64) {
        self.done.set(self.done.get() + cases);
        self.bar.set_prefix(format!("{}/{} cases", self.done.get(), self.total));
        // Never backwards, and never behind the cases that are done.
        self.bar.set_position(self.bar.position().max(self.done.get().saturating_mul(STEPS)));
    }

    /// Says a line, unless quiet: a warning, or what is about to happen.
    pub fn note(&self, line: &str) {
        if self.mode > Mode::Quiet {
            self.say(line);
        }
    }

    /// Says a line that only `-v` asks for.
    pub fn detail(&self, line: &str) {
        if self.mode == Mode::Verbose {
            self.say(line);
        }
    }

    /// Does something that prints, with the bar out of its way: rows, the last ones included, may go to the same terminal.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, line: &str) {
        // Where nobody listens to the error stream, there is nobody to tell so.
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "{line}");
        });
    }
}

/// The time left, once a case has told how long cases take.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // The bar shows without it as well.
        let _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// However the run ends, the terminal is left clean.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_unseen_as_well() {
        let progress = Progress::new(10, Mode::Quiet);
        progress.start("memory/stream n=4");
        progress.advance(3);
        assert_eq!((progress.bar.position(), progress.bar.is_hidden()), (3 * STEPS, true));
        progress.step();
        progress.advance(1);
        assert_eq!(progress.bar.position(), 4 * STEPS);
        assert_eq!(progress.suspend(|| 7), 7);
    }
}
