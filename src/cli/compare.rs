//! `lanescope compare`: what changed between sides of rows.
//!
//! ```text
//! sides      what the arguments stand for
//! gates      which of --fail-on fail
//! files      where the answer goes
//! suspects   the cases to measure again
//! commands   what to type for that
//! ```

mod commands;
mod files;
mod gates;
mod sides;
mod suspects;

use std::path::Path;

use super::args::compare::Compare;
use super::stdout::print;
use crate::analysis::compare::{Comparison, Sides, Terms, compare as compared, read};
use crate::error::{EXIT_FAILED, EXIT_OK};
use crate::model::Shown;
use crate::output::{Format, Mode, Progress, Report, Target, say, write_whole};
use suspects::Suspects;

pub fn compare(arguments: &Compare) -> anyhow::Result<u8> {
    let question = sides::question(arguments)?;
    let targets = files::targets(arguments, &question)?;
    let sides = read(&question)?;
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    progress.notes(&sides.notes);
    let comparisons = compared(&sides, &Terms { margin: arguments.margin, is_forced: arguments.force })?;
    let failures = gates::failures(&arguments.fail_on, &comparisons)?;
    let report = Report { comparisons: &comparisons, failures: &failures, is_whole: arguments.all };
    files::write(&targets, &report)?;
    let is_shown = |formats: &[Format]| targets.iter().any(|(to, format)| *to == Target::Stdout && formats.contains(format));
    if !is_shown(&[Format::Table, Format::Markdown]) {
        failures.iter().for_each(|line| say(line));
    }
    if let Some(file) = &arguments.suspects {
        let lines = suspect(file, &sides, &comparisons)?;
        if is_shown(&[Format::Table]) {
            print(&format!("\n{}\n", lines.join("\n")))?;
        } else {
            progress.note(&lines.join("\n"));
        }
    }
    Ok(if failures.is_empty() { EXIT_OK } else { EXIT_FAILED })
}

fn suspect(file: &Path, sides: &Sides, comparisons: &[Comparison]) -> anyhow::Result<Vec<String>> {
    let suspects = Suspects::new(sides, comparisons);
    if suspects.is_empty() {
        let words = "no case changed or is unclear for a reason that measuring it again would mend: nothing to write";
        return Ok(vec![format!("{}: {words}", file.shown())]);
    }
    write_whole(file, &suspects.csv()?)?;
    Ok(commands::lines(&suspects, file, sides, comparisons))
}
