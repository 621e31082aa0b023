//! `lanescope merge`: the files of a run's shards become the one file that the run would have written.

mod gaps;
mod place;
mod relate;
mod rows;
mod standing;

use std::io::IsTerminal;
use std::path::Path;

use anyhow::Context;

use super::args::Merge;
use crate::error::{EXIT_OK, Error};
use crate::model::Status;
use crate::output::{self, Format, Mode, Outputs, Progress, Staged, Target, WriteOutcome};
use crate::record::{Header, Record};
use rows::Rows;

/// Reads the files, checks that nothing is missing and nothing contradicts, and writes what they hold together.
pub fn merge(arguments: &Merge) -> anyhow::Result<u8> {
    let progress = Progress::new(0, if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    let targets = targets(arguments)?;
    let mut rows = Rows::default();
    for file in &arguments.files {
        rows.read(file)?;
    }
    rows.notes().iter().for_each(|note| progress.note(&format!("note: {note}")));
    let (mut faults, gaps) = (rows.faults(), gaps::told(&rows));
    if arguments.partial {
        gaps.iter().for_each(|gap| progress.note(&format!("note: {gap}")));
    } else {
        faults.extend(gaps);
    }
    if !faults.is_empty() {
        anyhow::bail!("{}\nnothing was written", faults.join("\n"));
    }
    let summary = write(&rows, targets)?;
    progress.note(&format!("{summary} from {}", counted(arguments.files.len() as u64, "file")));
    Ok(EXIT_OK)
}

/// Files as named, each under a temporary name; standard output where it is named, or where no file is.
fn targets(arguments: &Merge) -> Result<Vec<(Target, Format)>, Error> {
    let for_stdout = arguments.format.unwrap_or(Format::for_stdout(std::io::stdout().is_terminal()));
    let mut targets = Vec::new();
    for path in &arguments.output {
        let target = Target::from_argument(path);
        let format = match (&target, arguments.format) {
            (Target::Stdout, _) => for_stdout,
            (Target::File(path), None) => Format::from_path(path)?,
            (Target::File(path), Some(format)) => Format::from_path(path).unwrap_or(format),
        };
        targets.push((target, format));
    }
    if targets.is_empty() {
        targets.push((Target::Stdout, for_stdout));
    }
    Ok(targets)
}

/// Writes the rows, and gives the files their names once all are whole.
fn write(rows: &Rows, targets: Vec<(Target, Format)>) -> anyhow::Result<Summary> {
    let mut staged = Vec::new();
    let mut opened = Vec::new();
    for (target, format) in targets {
        opened.push(match target {
            Target::Stdout => (Target::Stdout, format),
            Target::File(path) => {
                let file = Staged::new(&path);
                let target = Target::File(file.path().to_owned());
                staged.push(file);
                (target, format)
            }
        });
    }
    let outputs = output::open(&opened, &Header::new(rows.axes())).map_err(unwritable)?;
    let written = fill(rows, outputs);
    for file in staged {
        let path = file.path().to_owned();
        if written.is_ok() {
            file.finish().with_context(|| format!("can't give {} its name", path.display()))?;
        } else {
            // What can't be removed bears a name that says what it is.
            let _ = file.discard();
        }
    }
    written
}

fn fill(rows: &Rows, mut outputs: Outputs) -> anyhow::Result<Summary> {
    let mut summary = Summary::default();
    relate::each(rows, &mut |row| {
        summary.count(row);
        Ok(outputs.write(row)? == WriteOutcome::Written)
    })?;
    let _ = outputs.finish()?;
    Ok(summary)
}

/// Nothing was to be measured here.
fn unwritable(error: Error) -> Error {
    match error {
        Error::Output { path, source } => Error::Usage(format!("can't write {path}: {source}")),
        other => other,
    }
}

/// What was written.
#[derive(Default)]
struct Summary {
    measured: u64,
    skipped: u64,
    failed: u64,
    planned: u64,
    derived: u64,
}

impl Summary {
    fn count(&mut self, row: &Record) {
        *match Status::named(&row.status) {
            _ if row.is_derived() => &mut self.derived,
            Some(Status::Skipped) => &mut self.skipped,
            Some(Status::Planned) => &mut self.planned,
            Some(status) if status.is_failure() => &mut self.failed,
            _ => &mut self.measured,
        } += 1;
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} measured, {} skipped, {} failed", self.measured, self.skipped, self.failed)?;
        let more = [(self.planned, "planned"), (self.derived, "derived")];
        more.into_iter().filter(|(count, _)| *count > 0).try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// `1 case`, `2 cases`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
