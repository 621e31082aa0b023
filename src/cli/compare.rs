//! `lanescope compare`: what changed between sides of rows.
//!
//! ```text
//! gates      which of --fail-on fail
//! files      where the answer goes
//! suspects   the cases to measure again
//! commands   what to type for that
//! ```

mod commands;
mod files;
mod gates;
mod suspects;

use std::path::{Path, PathBuf};

use super::args::compare::Compare;
use super::named::{each_stream_once, named_files};
use super::stdout::print;
use crate::analysis::compare::{Comparison, Question, Sides, Terms, compare as compared, read};
use crate::error::{EXIT_FAILED, EXIT_OK, Error};
use crate::model::Shown;
use crate::output::{Format, Mode, Progress, Report, Target, say, write_whole};
use gates::Outcome;
use suspects::Suspects;

pub fn compare(arguments: &Compare) -> anyhow::Result<u8> {
    let question = question(arguments)?;
    let targets = files::targets(arguments, &question)?;
    let sides = read(&question, arguments.pool_devices)?;
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    progress.notes(&sides.notes);
    let comparisons = compared(&sides, &Terms { margin: arguments.margin, is_forced: arguments.force })?;
    let Outcome { failures, unjudged } = gates::judged(&arguments.fail_on, &comparisons)?;
    let report = Report { comparisons: &comparisons, failures: &failures, unjudged: &unjudged, is_whole: arguments.all };
    files::write(&targets, &report)?;
    let is_shown = |formats: &[Format]| targets.iter().any(|(to, format)| *to == Target::Stdout && formats.contains(format));
    if !is_shown(&[Format::Table, Format::Markdown]) {
        failures.iter().for_each(|line| say(&format!("failed: {line}")));
        unjudged.iter().for_each(|line| say(&format!("not judged: {line}")));
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

/// Errors: a name without a file, and standard input for several.
fn question(arguments: &Compare) -> Result<Question, Error> {
    let Some(column) = &arguments.by else { return Ok(Question::Files(named_files(&arguments.sides)?)) };
    if arguments.pool_devices && column == "device_uuid" {
        return Err(Error::Usage(
            "--by device_uuid tells devices apart that --pool-devices takes for one: leave one of them".to_owned(),
        ));
    }
    let files: Vec<PathBuf> = arguments.sides.iter().map(PathBuf::from).collect();
    each_stream_once(&files)?;
    Ok(Question::By { column: column.clone(), base: arguments.base.clone(), files })
}
