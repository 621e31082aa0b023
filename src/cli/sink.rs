//! Where a run's rows go, and what is said meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use super::voice::Voice;
use crate::error::{EXIT_FAILED, EXIT_OK, EXIT_RETRY};
use crate::measure::Measured;
use crate::model::{Case, Failure, Shown, Status};
use crate::output::{CodeFolder, Outputs, Samples, WriteOutcome};
use crate::record::Record;

/// The outputs of a run and the count of its rows. Devices that are measured on side by side share it.
pub struct Sink {
    pub voice: Voice,
    is_mock: bool,
    is_dry: bool,
    started: Instant,
    most_told: u64,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct Beside {
    pub samples: Option<Samples>,
    pub code: Option<CodeFolder>,
    /// The folder for pictures, as long as no case has made one.
    pub unseen: Option<PathBuf>,
}

struct State {
    outputs: Outputs,
    beside: Beside,
    closed: bool,
    written: u64,
    skipped: u64,
    failed: u64,
    not_run: u64,
    /// Whether another try may have figures for some of them.
    retryable: bool,
    /// Failures that were told of, by how they failed.
    told: BTreeMap<String, u64>,
}

impl Sink {
    /// A sink of these outputs. Rows of the mock device are the same bytes whenever it runs.
    pub fn new(outputs: Outputs, beside: Beside, voice: Voice, is_mock: bool, is_dry: bool) -> Self {
        let state = State {
            outputs,
            beside,
            closed: false,
            written: 0,
            skipped: 0,
            failed: 0,
            not_run: 0,
            retryable: false,
            told: BTreeMap::new(),
        };
        let (started, state) = (Instant::now(), Mutex::new(state));
        Self { voice, is_mock, is_dry, started, most_told: u64::MAX, state }
    }

    /// Tells of so many failures of each kind at most: where thousands fail in the same way, the first few say it.
    pub fn telling_few(self, most: u64) -> Self {
        Self { most_told: most, ..self }
    }

    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    pub fn write(&self, row: Record) -> anyhow::Result<()> {
        self.write_with(row, None)
    }

    /// Writes a row to all outputs, and says if it is one of a failure; and beside it what is asked for of its measured case. What
    /// can't be written beside rows fails the run, and ends nothing else.
    /// Errors: where an output can't be written; the others have the row nevertheless.
    pub fn write_with(&self, mut row: Record, measured: Option<(&Case, &Measured)>) -> anyhow::Result<()> {
        row.written_at = self.now();
        let status = Status::named(&row.status);
        if status.is_some_and(Status::is_failure) && status != Some(Status::NotRun) {
            let count = {
                let mut state = self.state();
                let count = state.told.entry(row.status.clone()).or_default();
                *count += 1;
                *count
            };
            let line = format!("{}: {}: {}", row.case_name(), row.status, row.reason);
            if count <= self.most_told { self.voice.progress.note(&line) } else { self.voice.progress.detail(&line) }
        }
        let mut state = self.state();
        if !row.is_derived() {
            state.written += 1;
            match status {
                Some(Status::Skipped) => state.skipped += 1,
                Some(status) if status.is_failure() => {
                    state.failed += 1;
                    state.not_run += u64::from(status == Status::NotRun);
                }
                _ => {}
            }
        }
        let State { outputs, beside, closed, .. } = &mut *state;
        *closed |= self.voice.progress.suspend(|| outputs.write(&row))? == WriteOutcome::Closed;
        if let Some((case, measured)) = measured {
            self.write_beside(beside, &row, case, measured);
        }
        Ok(())
    }

    /// Takes note that a device can't be measured on, or was given up: another try may help, unless that was refused in words.
    pub fn give_up(&self, failure: &Failure) {
        self.state().retryable |= failure.status != Status::Error;
    }

    /// Keeps rows that may yet be measured again, where outputs can take them back: a process that is killed leaves them.
    pub fn hold(&self, mut rows: Vec<Record>) -> anyhow::Result<()> {
        rows.iter_mut().for_each(|row| row.written_at = self.now());
        let mut state = self.state();
        state.closed |= self.voice.progress.suspend(|| state.outputs.hold(&rows))? == WriteOutcome::Closed;
        Ok(())
    }

    fn now(&self) -> String {
        let now = if self.is_mock { SystemTime::UNIX_EPOCH } else { SystemTime::now() };
        humantime::format_rfc3339_seconds(now).to_string()
    }

    fn write_beside(&self, beside: &mut Beside, row: &Record, case: &Case, measured: &Measured) {
        let Beside { samples, code, unseen } = beside;
        if !case.pictures.is_empty() {
            *unseen = None;
        }
        if let Some(open) = samples {
            if let Err(error) = open.write(row, &measured.rounds.samples, &measured.rounds.processes) {
                *samples = None;
                self.voice.fault(&format!("{error}; no more samples are written"));
            }
        }
        if let (Some(folder), Some(kernels)) = (&mut *code, &measured.statistics) {
            if let Err(error) = folder.write(row, case, kernels) {
                *code = None;
                self.voice.fault(&format!("{error}; no more code is written"));
            }
        }
    }

    /// Writes what outputs hold back, sums up, and gives the exit code.
    pub fn finish(self) -> anyhow::Result<u8> {
        let Self { voice, is_dry, started, state, most_told, .. } = self;
        let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.closed |= voice.progress.suspend(|| state.outputs.finish())? == WriteOutcome::Closed;
        let State { beside, closed, written, skipped, failed, not_run, retryable, told, .. } = state;
        if let Some(folder) = beside.unseen {
            let folder = folder.shown();
            voice.progress.note(&format!("note: none of the measured cases makes a picture: {folder} has no file of this run"));
        }
        if let Some(folder) = beside.code.filter(CodeFolder::is_empty) {
            voice.progress.note(&format!("note: no driver showed code: {} has no file of this run", folder.path().shown()));
        }
        if !closed {
            for (status, count) in told.iter().filter(|(_, count)| **count > most_told) {
                voice.progress.note(&format!("... and {} more {status}: their rows say what", count - most_told));
            }
            let (verb, seconds) = (if is_dry { "planned" } else { "measured" }, started.elapsed().as_secs_f64());
            let not_run = if not_run > 0 { format!(" ({not_run} of them not run)") } else { String::new() };
            let done = written - skipped - failed;
            voice.progress.note(&format!("{done} {verb}, {skipped} skipped, {failed} failed{not_run} in {seconds:.1} s"));
        }
        Ok(match failed {
            1.. if retryable && not_run > 0 => EXIT_RETRY,
            0 if !voice.has_faults() => EXIT_OK,
            _ => EXIT_FAILED,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves whole rows behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
