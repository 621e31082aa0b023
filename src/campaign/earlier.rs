//! `--resume FILE`: the rows that an earlier run left stay in the file, whatever ends this one, until others take their place.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::claim::{Claim, Continued, Sentinels};
use super::resumable::check_columns;
use super::resumed_file::ResumedFile;
use super::settings::RowFiles;
use super::sink::{RowKey, row_key};
use crate::error::Error;
use crate::model::Shown;
use crate::output::{self, Format, Outputs, Staged, Target};
use crate::record::{Completeness, Reader, Record};
use crate::regular;

/// What a row of an earlier run is to the one that goes on from it.
pub enum Verdict {
    /// It stays as it is.
    Kept(Record),
    /// It counts, and may change.
    Taken(Record),
    /// Its case is measured again, and it stays until then.
    Again(Record),
    /// Another row of its case stays.
    Dropped(Record),
}

/// Says what rows of an earlier run are to this one.
pub trait Judge {
    /// Errors: why the row isn't one of this run.
    fn judge(&mut self, row: Record) -> Result<Verdict, String>;
}

#[derive(Default)]
struct Counts {
    kept_for_good: usize,
    twice: u64,
    in_fewer_processes: u64,
    /// Whether a row with figures goes.
    loses_figures: bool,
}

/// The rows that others may take the place of, and whether their cases are measured again. Of two of a case the later one counts.
type Earlier = BTreeMap<RowKey, (Record, bool)>;

fn has_figures(row: &Record) -> bool {
    !row.is_derived() && row.value.is_some() && Completeness::from_row(row) == Completeness::Finished
}

impl Claim<'_> {
    /// Reads the file of `--resume`, if it is there, and puts a copy in its place that this run goes on from.
    /// Errors: what isn't a file of rows, or holds rows that don't belong to this run, with what differs.
    pub fn earlier(&self, judge: &mut impl Judge) -> anyhow::Result<Option<Continued>> {
        let RowFiles { resume, are_staged, .. } = &self.campaign.settings.files;
        let Some(asked) = resume else { return Ok(None) };
        // A part that isn't whole yet bears a temporary name.
        let work = if *are_staged { Staged::new(asked).path().to_owned() } else { asked.clone() };
        let progress = &self.campaign.voice.progress;
        // A part is there only while a later run isn't whole.
        let Some(source) = [&work, asked].into_iter().find(|path| path.exists()) else {
            progress.note(&format!("{} is not there: measuring everything", asked.shown()));
            return Ok(None);
        };
        match Reader::open(source) {
            Ok(rows) => {
                // Whenever this is interrupted, the old file or the copy is whole.
                let mut continued = Staged::copy_of(&work).fill(|copy| self.copied(rows, source, copy, judge))?;
                continued.file.path = work;
                Ok(Some(continued))
            }
            Err(error) if error.holds_no_rows() => {
                progress.note(&format!("{error}: measuring everything"));
                Ok(None)
            }
            Err(error) => Err(Error::Usage(error.to_string()).into()),
        }
    }

    fn copied(&self, mut rows: Reader<File>, source: &Path, copy: &Path, judge: &mut impl Judge) -> anyhow::Result<Continued> {
        check_columns(&rows, &self.header).map_err(|why| Error::Usage(format!("{}: {why}", source.shown())))?;
        let mut outputs = output::open(&[(Target::File(copy.to_owned()), Format::Csv)], &self.header)?;
        let (mut counts, mut earlier, mut sentinels) = (Counts::default(), Earlier::new(), Sentinels::default());
        while let Some(row) = rows.next() {
            let mut row = row.map_err(|error| Error::Usage(error.to_string()))?;
            if self.campaign.settings.files.is_anonymous {
                row.host.clear();
            }
            sentinels.learn(&row);
            let verdict = judge.judge(row);
            let verdict = verdict.map_err(|why| Error::Usage(format!("{}, line {}: {why}", source.shown(), rows.line())))?;
            self.put(verdict, &mut outputs, &mut earlier, &mut counts)?;
        }
        for (row, _) in earlier.values() {
            let _ = outputs.write(row)?;
        }
        let again = || earlier.values().filter(|(_, is_again)| *is_again);
        if counts.loses_figures || again().any(|(row, _)| has_figures(row)) {
            let beside = keep_beside(source)?;
            let words = format!("{}: as it was, it is kept in {}", source.shown(), beside.shown());
            self.campaign.voice.progress.note(&words);
        }
        let taken = earlier.values().filter(|(row, is_again)| !(*is_again || row.is_derived()));
        let taken: Vec<String> = taken.map(|(row, _)| row.case_id.clone()).collect();
        self.say(source, rows.cut(), (counts.kept_for_good + taken.len(), again().count()), &counts);
        let file = ResumedFile { path: copy.to_owned(), kept: counts.kept_for_good, earlier: earlier.len() };
        let earlier = earlier.into_iter().map(|(key, (row, _))| (key, row)).collect();
        Ok(Continued { file, earlier, taken, sentinels })
    }

    fn put(&self, verdict: Verdict, outputs: &mut Outputs, earlier: &mut Earlier, counts: &mut Counts) -> anyhow::Result<()> {
        match verdict {
            Verdict::Kept(row) => {
                // No row has more than it has rounds.
                let due = (self.campaign.settings.processes as u64).min(row.rounds.unwrap_or(0));
                counts.in_fewer_processes += u64::from(row.processes.is_some_and(|processes| processes < due));
                counts.kept_for_good += 1;
                // A run that was killed left the row whose place it took as well.
                earlier.remove(&row_key(&row));
                // Its file is the only one that these rows are for.
                let _ = outputs.write(&row)?;
            }
            Verdict::Taken(row) => drop(earlier.insert(row_key(&row), (row, false))),
            Verdict::Again(row) => drop(earlier.insert(row_key(&row), (row, true))),
            Verdict::Dropped(row) => {
                counts.twice += 1;
                counts.loses_figures |= has_figures(&row);
            }
        }
        Ok(())
    }

    fn say(&self, source: &Path, cut: Option<impl Display>, (kept, again): (usize, usize), counts: &Counts) {
        let (name, progress) = (source.shown(), &self.campaign.voice.progress);
        progress.notes(cut.map(|cut| format!("{name}: {cut} and is dropped")));
        let Counts { twice, in_fewer_processes, .. } = *counts;
        let reasons = "they failed, were stopped early, or their sources have changed";
        let measured_again = if again > 0 { format!("; measured again, since {reasons}: {again}") } else { String::new() };
        progress.note(&match (kept, again) {
            (0, 0) => format!("{name}: no case was finished"),
            (1, _) => format!("{name}: 1 row is kept{measured_again}"),
            _ => format!("{name}: {kept} rows are kept{measured_again}"),
        });
        if twice > 0 {
            let rows = if twice == 1 {
                "1 row is left out: its case has"
            } else {
                &format!("{twice} rows are left out: their cases have")
            };
            progress.note(&format!("{name}: {rows} another row"));
        }
        if in_fewer_processes > 0 {
            let rows = if in_fewer_processes == 1 { "1 of them was" } else { &format!("{in_fewer_processes} of them were") };
            let processes = self.campaign.settings.processes;
            progress.note(&format!(
                "note: {rows} measured in fewer processes than {processes}, and stay as they are: name a new file to measure them so"
            ));
        }
    }
}

/// Copies a file to a name beside it that nothing bears.
fn keep_beside(file: &Path) -> anyhow::Result<PathBuf> {
    let copied = regular::open(file, regular::ROWS).and_then(|mut rows| output::copy_beside(&mut rows, file, ".bak"));
    copied.with_context(|| format!("can't copy {} to a name beside it", file.shown()))
}
