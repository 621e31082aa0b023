//! `lanescope merge`: the files of a run's shards become the one file that the run would have written.

use std::path::{Path, PathBuf};

use super::args::Merge;
use super::chosen;
use super::named::once_from_standard_input;
use super::outputs;
use super::overwriting::Files;
use crate::analysis::{Purpose, RowSet, counted};
use crate::error::{EXIT_OK, Error};
use crate::model::{Shown, Status};
use crate::output::{self, Format, Mode, Outputs, Progress, Target, WriteOutcome};
use crate::record::{Header, Record};

pub fn merge(arguments: &Merge) -> anyhow::Result<u8> {
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    if arguments.format == Some(Format::Card) {
        return Err(Error::Usage("`lanescope card FILE...` makes the card of files".to_owned()).into());
    }
    Files::default().reading("the rows", &arguments.files).writing("--save-table", &arguments.save_table).check()?;
    Files::default().writing("--output", &arguments.output).writing("--save-table", &arguments.save_table).check()?;
    once_from_standard_input(arguments.files.iter().map(PathBuf::as_path))?;
    let targets = outputs::targets(&arguments.output, arguments.format, Format::for_stdout(outputs::is_terminal()), false)?;
    let mut rows = RowSet::default();
    for file in &arguments.files {
        rows.read(file, if arguments.partial { Purpose::MergingPart } else { Purpose::Merging })?;
    }
    progress.notes(rows.notes());
    let (mut faults, gaps) = (rows.faults(), rows.missing());
    if arguments.partial {
        progress.notes(gaps);
    } else {
        faults.extend(gaps);
    }
    if !faults.is_empty() {
        anyhow::bail!("{}\nnothing was written", faults.join("\n"));
    }
    let chosen = arguments.save_table.as_ref().map(|path| (chosen::entries(&rows, path), path));
    let summary = write(rows, targets, &arguments.columns, arguments.anonymous)?;
    if let Some((entries, path)) = chosen {
        let count = chosen::save(entries?, path)?;
        progress.note(&format!("{} in {}", counted(count as u64, "best workgroup"), path.shown()));
    }
    progress.note(&format!("{summary} from {}", counted(arguments.files.len() as u64, "file")));
    Ok(EXIT_OK)
}

/// Brings the file of a run that was resumed into the form that one without interruption would have.
/// Errors: where it can't be read or replaced; it stays as it is.
pub fn renew(file: &Path, columns: &[String], is_anonymous: bool) -> anyhow::Result<()> {
    let mut rows = RowSet::default();
    rows.read(file, Purpose::Merging)?;
    write(rows, vec![(Target::File(file.to_owned()), Format::Csv)], columns, is_anonymous).map(drop)
}

/// Writes the rows, and gives the files their names once all are whole.
fn write(rows: RowSet, targets: Vec<(Target, Format)>, columns: &[String], is_anonymous: bool) -> anyhow::Result<Summary> {
    let header = Header::new(rows.axes()).choosing(columns)?;
    let (opened, staged) = outputs::stage(targets);
    let outputs = output::open(&opened, &header)?;
    let written = fill(rows, outputs, is_anonymous);
    match &written {
        Ok(_) => outputs::finish(staged)?,
        // What can't be removed bears a name that says what it is.
        Err(_) => staged.into_iter().for_each(|file| drop(file.discard())),
    }
    written
}

fn fill(rows: RowSet, mut outputs: Outputs, is_anonymous: bool) -> anyhow::Result<Summary> {
    let mut summary = Summary::default();
    rows.each_renewed(&mut |mut row| {
        summary.count(&row);
        if is_anonymous {
            row.host.clear();
        }
        outputs.write(&row).map(|outcome| outcome == WriteOutcome::Written)
    })?;
    let _ = outputs.finish()?;
    Ok(summary)
}

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
