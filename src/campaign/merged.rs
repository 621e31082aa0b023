//! Rows of one or several files, in the order of one run, written as one file.

use std::path::Path;

use crate::analysis::{Purpose, RowSet};
use crate::model::Status;
use crate::output::{self, Format, Outputs, RowTargets, Staged, Target, WriteOutcome};
use crate::record::{Header, Record};

/// Brings the file of a run that was resumed into the form that one without interruption would have.
/// Errors: where it can't be read or replaced; it stays as it is.
pub fn renew(file: &Path, columns: &[String], is_anonymous: bool) -> anyhow::Result<()> {
    let mut rows = RowSet::default();
    rows.read(file, Purpose::Merging)?;
    let header = Header::new(rows.axes()).choosing(columns)?;
    Staged::copy_of(file).fill(|copy| {
        let outputs = output::open(&[(Target::File(copy.to_owned()), Format::Csv)], &header)?;
        fill(rows, outputs, is_anonymous).map(drop)
    })
}

/// Writes the rows, and gives the files their names once all are whole.
pub fn write(rows: RowSet, targets: RowTargets, columns: &[String], is_anonymous: bool) -> anyhow::Result<Summary> {
    let header = Header::new(rows.axes()).choosing(columns)?;
    let (opened, staged) = output::stage(targets);
    let outputs = output::open(&opened, &header)?;
    let written = fill(rows, outputs, is_anonymous);
    match &written {
        Ok(_) => output::finish_staged(staged)?,
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
pub struct Summary {
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
