//! Where a run's rows go, and what is said meanwhile.

use std::time::{Instant, SystemTime};

use super::args::Run;
use crate::error::{EXIT_FAILED, EXIT_OK};
use crate::model::Status;
use crate::output::{Outputs, Progress, WriteOutcome};
use crate::record::Record;

/// The outputs of a run, its progress, and the count of its rows.
pub struct Sink {
    outputs: Outputs,
    /// For whoever waits.
    pub progress: Progress,
    /// Whether nobody reads any more.
    pub closed: bool,
    is_mock: bool,
    is_dry: bool,
    started: Instant,
    written: u64,
    skipped: u64,
    failed: u64,
    /// What failed besides rows.
    faults: u64,
}

impl Sink {
    /// A sink for this many cases. Rows of the mock device are the same bytes whenever it runs.
    pub fn new(outputs: Outputs, arguments: &Run, cases: u64, is_mock: bool) -> Self {
        Self {
            outputs,
            progress: Progress::new(cases, arguments.mode()),
            closed: false,
            is_mock,
            is_dry: arguments.dry_run,
            started: Instant::now(),
            written: 0,
            skipped: 0,
            failed: 0,
            faults: 0,
        }
    }

    /// Writes a row to all outputs.
    ///
    /// # Errors
    /// Where an output can't be written; the others have the row nevertheless.
    pub fn write(&mut self, mut row: Record) -> anyhow::Result<()> {
        let now = if self.is_mock { SystemTime::UNIX_EPOCH } else { SystemTime::now() };
        row.timestamp = humantime::format_rfc3339_seconds(now).to_string();
        if row.is_derived() {
            return self.pass_on(&row);
        }
        self.written += 1;
        match Status::named(&row.status) {
            Some(Status::Skipped) => self.skipped += 1,
            Some(status) if status.is_failure() => self.failed += 1,
            _ => {}
        }
        self.pass_on(&row)
    }

    fn pass_on(&mut self, row: &Record) -> anyhow::Result<()> {
        let (outputs, progress) = (&mut self.outputs, &self.progress);
        self.closed |= progress.suspend(|| outputs.write(row))? == WriteOutcome::Closed;
        Ok(())
    }

    /// Writes a row, and says if it is one of a failure.
    ///
    /// # Errors
    /// As [`Sink::write`].
    pub fn write_aloud(&mut self, row: Record) -> anyhow::Result<()> {
        if Status::named(&row.status).is_some_and(Status::is_failure) {
            let case = [row.experiment.as_str(), &row.variant, &row.axes].into_iter().filter(|part| !part.is_empty());
            let case = case.collect::<Vec<_>>().join(" ");
            self.progress.note(&format!("{case}: {}: {}", row.status, row.reason));
        }
        self.write(row)
    }

    /// Notes what failed beside the rows: the run has failed with it.
    pub fn fault(&mut self, what: &str) {
        self.faults += 1;
        self.progress.note(what);
    }

    /// Writes what outputs hold back, sums up, and gives the exit code.
    ///
    /// # Errors
    /// Where an output can't be written.
    pub fn finish(mut self) -> anyhow::Result<u8> {
        let (outputs, progress) = (&mut self.outputs, &self.progress);
        self.closed |= progress.suspend(|| outputs.finish())? == WriteOutcome::Closed;
        let done = self.written - self.skipped - self.failed;
        if !self.closed {
            let (verb, seconds) = (if self.is_dry { "planned" } else { "measured" }, self.started.elapsed().as_secs_f64());
            self.progress.note(&format!("{done} {verb}, {} skipped, {} failed in {seconds:.1} s", self.skipped, self.failed));
        }
        Ok(if self.failed + self.faults > 0 { EXIT_FAILED } else { EXIT_OK })
    }
}
