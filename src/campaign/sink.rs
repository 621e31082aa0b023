//! Where a campaign's rows go, and what is said meanwhile.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::begin::Campaign;
use super::settings::Settings;
use super::voice::Voice;
use crate::analysis::DOUBTS;
use crate::error::{EXIT_FAILED, EXIT_OK, EXIT_RETRY};
use crate::measure::Measured;
use crate::model::{Case, Failure, Shown, Stage, Status};
use crate::output::{CodeFolder, Outputs, Samples, WriteOutcome};
use crate::platform::now;
use crate::record::{Completeness, Record};
use crate::units::percent;

/// Rows that may change are written so many times as long after the last time as that took.
const HOLDING: u32 = 20;

/// Fewer rows than this may be doubtful by chance.
const FEWEST_DOUBTED: u64 = 5;

/// A clock that differs from what the driver says by a larger share is said to.
const OTHER_CLOCK: f64 = 0.003;

/// The outputs of a campaign and the count of its rows. Devices that are measured on side by side share it.
pub struct Sink {
    voice: Voice,
    is_mock: bool,
    is_dry: bool,
    started: Instant,
    most_told: u64,
    /// As `-d` takes them.
    devices: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct Beside {
    pub samples: Option<Samples>,
    pub code: Option<CodeFolder>,
    /// The folder for pictures, as long as no case has made one.
    pub unseen: Option<PathBuf>,
}

/// A row for good, and the case that it is of with what was measured, for what is written beside rows.
pub struct Written<'m> {
    pub row: Record,
    pub measured: Option<(&'m Case, &'m Measured)>,
}

impl From<Record> for Written<'_> {
    fn from(row: Record) -> Self {
        Self { row, measured: None }
    }
}

/// What a row is of, in the order in which a plan has them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// With its driver.
    pub(super) device: [String; 3],
    pub(super) index: Option<u64>,
    case_id: String,
}

pub(super) fn row_key(row: &Record) -> RowKey {
    let Record { device_uuid, driver_uuid, driver_info, plan_index, case_id, .. } = row;
    let device = [device_uuid, driver_uuid, driver_info].map(String::clone);
    RowKey { device, index: *plan_index, case_id: case_id.clone() }
}

#[derive(Default)]
struct State {
    outputs: Outputs,
    beside: Beside,
    /// Rows of an earlier run that stay until others take their place. The file that is gone on from has them, whatever takes it.
    earlier: BTreeMap<RowKey, Record>,
    /// Rows of this campaign that may change: they are in the files all the same, below those for good.
    held: BTreeMap<RowKey, Record>,
    /// When those were written last, and how long that took.
    last_held: Option<(Instant, Duration)>,
    /// Whether what follows from the rows has been drawn anew.
    has_derived: bool,
    closed: bool,
    written: u64,
    skipped: u64,
    /// Why the first of them was.
    why_skipped: Option<String>,
    failed: u64,
    not_run: u64,
    /// Whether another try may have figures for some of them.
    retryable: bool,
    /// Failures that were reported, by how they failed.
    told: BTreeMap<String, u64>,
    /// Rows with a figure, and those of them that bear a flag of the machine's.
    measured: u64,
    doubted: u64,
    /// Rows beside which the core's clock was another one than the driver said, and by how much of it at most.
    other_clocks: u64,
    largest_difference: f64,
}

impl Sink {
    /// A sink of these outputs, of which the file that is gone on from has these rows of an earlier run. Rows of the mock device are the
    /// same bytes whenever it runs.
    pub(super) fn new(outputs: Outputs, beside: Beside, earlier: BTreeMap<RowKey, Record>, campaign: &Campaign) -> Self {
        let Campaign { settings, targets, voice } = campaign;
        let Settings { is_dry, most_told, .. } = settings;
        let state = Mutex::new(State { outputs, beside, earlier, ..State::default() });
        let (voice, is_mock, is_dry, most_told) = (voice.clone(), targets.are_mock(), *is_dry, *most_told);
        let devices =
            if is_mock { settings.devices.clone() } else { targets.devices().map(|device| device.index.to_string()).collect() };
        Self { voice, is_mock, is_dry, started: Instant::now(), most_told, devices, state }
    }

    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Writes rows to all outputs at once, and says which are of failures; and beside them what is asked for of their measured cases.
    /// What can't be written beside rows fails the run, and ends nothing else.
    /// Errors: where an output can't be written; the others have the rows nevertheless.
    pub fn write<'m>(&self, rows: impl IntoIterator<Item = impl Into<Written<'m>>>) -> anyhow::Result<()> {
        let mut state = self.state();
        let (mut whole, mut beside) = (Vec::new(), Vec::new());
        for Written { mut row, measured } in rows.into_iter().map(Into::into) {
            row.written_at = self.now();
            self.tell(&mut state, &row);
            state.count(&row);
            let key = row_key(&row);
            if state.says_less(&key, &row) {
                continue;
            }
            state.earlier.remove(&key);
            state.held.remove(&key);
            beside.extend(measured.map(|measured| (whole.len(), measured)));
            whole.push(row);
        }
        self.put(&mut state, &whole)?;
        for (row, (case, measured)) in beside {
            self.write_beside(&mut state.beside, &whole[row], case, measured);
        }
        Ok(())
    }

    /// Takes rows that may change until the end. Files have them when [`Sink::sync`] is called next.
    pub fn hold(&self, rows: impl IntoIterator<Item = Record>) {
        let mut state = self.state();
        for mut row in rows {
            if row.written_at.is_empty() {
                row.written_at = self.now();
            }
            let key = row_key(&row);
            if state.held.get(&key).is_none_or(|held| held.status != row.status) {
                self.tell(&mut state, &row);
            }
            if !state.says_less(&key, &row) {
                state.held.insert(key, row);
            }
        }
    }

    /// Writes the rows that may change, so that a process that is killed leaves them. Where they are many, that takes its time, of which
    /// it may have a small share, unless it is `urgent`. A kill at the wrong moment may take them all the same: the journal has what they
    /// are made of.
    pub fn sync(&self, is_urgent: bool) -> anyhow::Result<()> {
        let mut state = self.state();
        if !is_urgent && state.last_held.is_some_and(|(when, took)| when.elapsed() < took * HOLDING) {
            return Ok(());
        }
        self.put(&mut state, &[])
    }

    /// Rows for good, and below them those that may change.
    fn put(&self, state: &mut State, rows: &[Record]) -> anyhow::Result<()> {
        let began = Instant::now();
        let State { outputs, held, closed, .. } = state;
        *closed |= self.voice.progress.suspend(|| outputs.write_above(rows, held.values()))? == WriteOutcome::Closed;
        state.last_held = Some((Instant::now(), began.elapsed()));
        Ok(())
    }

    /// Says that a row is of a failure, if it is.
    fn tell(&self, state: &mut State, row: &Record) {
        let status = Status::named(&row.status);
        if status.is_some_and(Status::is_failure) && status != Some(Status::NotRun) {
            let count = state.told.entry(row.status.clone()).or_default();
            *count += 1;
            let line = format!("{}: {}: {}", row.case_name(), row.status, row.reason);
            if *count <= self.most_told { self.voice.progress.note(&line) } else { self.voice.progress.detail(&line) }
        }
    }

    /// Writes what follows from the rows, in the place of what followed from those of an earlier run.
    pub fn derive(&self, rows: Vec<Record>) -> anyhow::Result<()> {
        self.state().has_derived = true;
        self.write(rows)
    }

    /// Takes note that a device can't be measured on, or was given up: another try may help, unless that was refused in words.
    pub fn give_up(&self, failure: &Failure) {
        let is_transient = failure.status != Status::Error && failure.stage != Some(Stage::Reference);
        self.state().retryable |= is_transient;
    }

    fn now(&self) -> String {
        let now = if self.is_mock { SystemTime::UNIX_EPOCH } else { now() };
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

    /// Writes what may change no more, and what outputs hold back; sums up, and gives the exit code, and the rows of an earlier run
    /// that go though no other takes their place. `is_whole`: the campaign came to its end.
    pub(super) fn finish(self, is_whole: bool) -> anyhow::Result<(u8, HashSet<RowKey>)> {
        let mut state = self.state();
        let rows: Vec<Record> = std::mem::take(&mut state.held).into_values().collect();
        rows.iter().for_each(|row| state.count(row));
        self.put(&mut state, &rows)?;
        // What follows from rows that stay, since their cases were never tried now, stays as well.
        let is_redrawn = is_whole && state.has_derived && state.not_run == 0;
        let State { outputs, earlier, .. } = &mut *state;
        rows.iter().for_each(|row| drop(earlier.remove(&row_key(row))));
        let (retired, staying): (Vec<_>, Vec<_>) =
            std::mem::take(earlier).into_iter().partition(|(_, row)| is_redrawn && row.is_derived());
        for (_, row) in staying {
            // Who stopped reading has been noted.
            let _ = outputs.pass_on(&row)?;
        }
        let finished = self.voice.progress.suspend(|| outputs.finish())?;
        state.say_beside(&self.voice);
        if !state.closed && finished != WriteOutcome::Closed {
            self.sum_up(&state);
        }
        let code = match state.failed {
            1.. if state.retryable && state.not_run > 0 => EXIT_RETRY,
            0 if !self.voice.has_faults() => EXIT_OK,
            _ => EXIT_FAILED,
        };
        Ok((code, retired.into_iter().map(|(key, _)| key).collect()))
    }

    fn sum_up(&self, state: &State) {
        let State { written, skipped, failed, not_run, told, .. } = state;
        let Self { voice, most_told, .. } = self;
        for (status, count) in told.iter().filter(|(_, count)| *count > most_told) {
            voice.progress.note(&format!("... and {} more {status}: their rows say what", count - most_told));
        }
        let not_run = if *not_run > 0 { format!(" ({not_run} of them not run)") } else { String::new() };
        let (done, verb) = (written - skipped - failed, if self.is_dry { "planned" } else { "measured" });
        let seconds = self.started.elapsed().as_secs_f64();
        voice.progress.notes(state.other_clock());
        voice.progress.notes(state.advice(&self.devices));
        // What nobody expects.
        if let Some(why) = state.why_skipped.as_ref().filter(|_| skipped == written) {
            voice.progress.note(&format!("all cases were skipped, the first because {why}"));
        }
        voice.progress.note(&format!("{done} {verb}, {skipped} skipped, {failed} failed{not_run} in {seconds:.1} s"));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves whole rows behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a row says that its case was never tried, where the earlier run has tried it: then it takes no row's place.
    fn says_less(&self, key: &RowKey, row: &Record) -> bool {
        let is_tried = |row: &Record| Completeness::from_row(row).is_tried();
        !is_tried(row) && self.earlier.get(key).is_some_and(is_tried)
    }

    /// Says that the driver told another clock than the core had.
    fn other_clock(&self) -> Option<String> {
        let rows = match self.other_clocks {
            0 => return None,
            1 => "1 row".to_owned(),
            count => format!("{count} rows"),
        };
        let most = percent(self.largest_difference);
        Some(format!(
            "beside {rows} the core's clock was another one than the driver says, by up to {most}: core_clock_mhz has it"
        ))
    }

    /// Names what finds out about the machine, where most rows are doubtful because of it.
    fn advice(&self, devices: &[String]) -> Option<String> {
        let Self { measured, doubted, .. } = self;
        let devices: String = devices.iter().map(|device| format!(" -d {device}")).collect();
        (*measured >= FEWEST_DOUBTED && 2 * doubted > *measured).then(|| {
            format!(
                "{doubted} of {measured} rows bear a flag of the machine's: `lanescope doctor{devices}` finds out what is wrong"
            )
        })
    }

    fn count(&mut self, row: &Record) {
        if row.is_derived() {
            return;
        }
        self.written += 1;
        if row.status == Status::Ok.as_str() {
            self.measured += 1;
            let is_doubted = DOUBTS.iter().any(|doubt| doubt.is_of_machine && row.has_flag(doubt.flag.name()));
            self.doubted += u64::from(is_doubted);
        }
        let difference = row.core_clock_mhz.zip(row.clock_mhz).map_or(0.0, |(measured, told)| (measured / told - 1.0).abs());
        self.other_clocks += u64::from(difference > OTHER_CLOCK);
        self.largest_difference = self.largest_difference.max(difference);
        match Status::named(&row.status) {
            Some(Status::Skipped) => {
                self.skipped += 1;
                self.why_skipped.get_or_insert_with(|| row.reason.clone());
            }
            Some(status) if status.is_failure() => {
                self.failed += 1;
                self.not_run += u64::from(status == Status::NotRun);
            }
            _ => {}
        }
    }

    /// Says of what is asked for beside rows that there is none.
    fn say_beside(&mut self, voice: &Voice) {
        let Beside { code, unseen, .. } = std::mem::take(&mut self.beside);
        if let Some(folder) = unseen {
            let folder = folder.shown();
            voice.progress.note(&format!("note: none of the measured cases makes a picture: {folder} has no file of this run"));
        }
        if let Some(folder) = code.filter(CodeFolder::is_empty) {
            voice.progress.note(&format!("note: no driver showed code: {} has no file of this run", folder.path().shown()));
        }
    }
}
