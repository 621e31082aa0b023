//! `lanescope compare`: what changed between sides of rows.
//!
//! ```text
//! sides      what the arguments stand for
//! gates      which of --fail-on fail
//! files      where the answer goes
//! ```

mod files;
mod gates;
mod sides;

use std::io::{self, Write};

use super::args::compare::Compare;
use crate::analysis::compare::{Terms, compare as compared, read};
use crate::error::{EXIT_FAILED, EXIT_OK};
use crate::output::{Mode, Progress, Report};

/// Reads both sides, compares them, and tells what changed.
pub fn compare(arguments: &Compare) -> anyhow::Result<u8> {
    let question = sides::question(arguments)?;
    let targets = files::targets(arguments, &question)?;
    let sides = read(&question)?;
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    sides.notes.iter().for_each(|note| progress.note(&format!("note: {note}")));
    let comparisons = compared(&sides, &Terms { margin: arguments.margin, is_forced: arguments.force })?;
    let failures = gates::failures(&arguments.fail_on, &comparisons)?;
    let report = Report { comparisons: &comparisons, failures: &failures, is_whole: arguments.all };
    files::write(&targets, &report)?;
    if !files::is_read_by_people(&targets) {
        // Where nobody listens to the error stream, the exit code still tells.
        failures.iter().for_each(|line| drop(writeln!(io::stderr(), "{line}")));
    }
    Ok(if failures.is_empty() { EXIT_OK } else { EXIT_FAILED })
}
