//! `FILE.progress`, beside a file of rows as long as that isn't whole: keeps other runs off the file, and has a line for each visit to
//! a case that has no row yet, so that whatever ends the run, `--resume` goes on from there.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fs4::fs_std::FileExt;
use serde::{Deserialize, Serialize};

use super::resumable::differences;
use crate::error::Error;
use crate::measure::{Earlier, Sizes, VisitMade, Visited};
use crate::model::Shown;
use crate::output::{Format, Target, is_at, place};
use crate::platform::{self, FileKind};
use crate::regular;
use crate::units::Nanos;

const ENDING: &str = ".progress";

/// Says what the file is, and behind it which form its lines have.
const KIND: &str = "lanescope progress ";
const VERSION: &str = "lanescope progress 5";

/// The longest line that is read, in bytes: none comes near.
const LONGEST_LINE: u64 = 64 << 20;

/// How often a file is opened anew that another run has removed meanwhile.
const TRIES: u32 = 5;

/// The files of rows that a run writes to: no other run does, as long as this lives.
pub struct Journals {
    /// The first of them that can be resumed has visits.
    visits: Option<Journal>,
    others: Vec<Claim>,
    is_whole: bool,
    pub notes: Vec<String>,
}

impl Journals {
    /// Claims these files. What is no file, such as `/dev/null` or a pipe, may have several writers.
    /// Errors: that another run writes to one of them, or that what lies beside it is something else's.
    pub fn claim<'f>(files: impl IntoIterator<Item = &'f Path>) -> Result<Self, Error> {
        let mut new = Self { visits: None, others: Vec::new(), is_whole: false, notes: Vec::new() };
        for file in files {
            let Some(path) = beside(file).filter(|path| new.paths().all(|known| known != path)) else { continue };
            match Claim::take(file, &path)? {
                Ok(claim) if new.visits.is_none() && Format::from_path(file).is_ok_and(|format| format == Format::Csv) => {
                    new.visits = Some(Journal { claim, state: Mutex::default() });
                }
                Ok(claim) => new.others.push(claim),
                // As is its folder: whoever opens it will say so.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // As where the file may be written to, but nothing new may lie beside it.
                Err(error) => {
                    new.notes.push(format!("can't write {}: {error}; what a kill stops early is measured anew", path.shown()))
                }
            }
        }
        Ok(new)
    }

    /// Errors: that something else's file lies where the journal of one of these files is kept. Whether another run writes to it shows only
    /// to [`Journals::claim`]: until then it may have ended.
    pub fn check<'f>(files: impl IntoIterator<Item = &'f Path>) -> Result<(), Error> {
        for (file, path) in files.into_iter().filter_map(|file| Some((file, beside(file)?))) {
            // What can't be opened is noted by whoever claims it.
            if regular::own_again(&path).is_ok_and(|mut begun| is_own(&mut begun).is_ok_and(|is_own| !is_own)) {
                return Err(anothers(file, &path));
            }
        }
        Ok(())
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.visits.iter().map(|journal| &journal.claim).chain(&self.others).map(|claim| claim.path.as_path())
    }

    /// Begins the journal of a run whose rows have this in common, going on from what an earlier one left if that is asked for.
    /// What it has of cases that have rows is of no use.
    pub fn begin<'c>(&mut self, common: &[Vec<(&str, String)>], resumes: bool, has_row: impl Iterator<Item = &'c String>) {
        let Some(journal) = &mut self.visits else { return };
        match journal.begin(common, resumes, has_row) {
            Ok(note) => self.notes.extend(note),
            Err(error) => {
                self.notes.push(format!("can't write {}: {error}", journal.claim.path.shown()));
                self.others.extend(self.visits.take().map(|journal| journal.claim));
            }
        }
    }

    /// Errors: that what an earlier run left to go on from is of another device, driver or plan, with what differs.
    pub fn check_left(&self, common: &[Vec<(&str, String)>]) -> Result<(), Error> {
        let Some(journal) = &self.visits else { return Ok(()) };
        let differing = journal.differing(common).unwrap_or_default();
        if differing.is_empty() {
            return Ok(());
        }
        let Claim { rows, path, .. } = &journal.claim;
        let advice = "give the same command as then with --resume in place of -o, or name a new file";
        let (path, rows, differing) = (path.shown(), rows.shown(), differing.join(", "));
        Err(Error::Usage(format!("{path} has what another run measured for {rows}: {differing}; {advice}")))
    }

    pub fn hint(&self) -> Option<String> {
        let journal = self.visits.as_ref()?;
        Some(format!("to go on: the same command with --resume {} (in the place of -o)", journal.claim.rows.shown()))
    }

    pub fn journal(&self) -> Option<&Journal> {
        self.visits.as_ref()
    }

    /// Ends them where no case is without a row: nobody is to go on from the visits.
    pub fn finish(mut self) {
        self.is_whole = true;
    }
}

/// What ends otherwise leaves the visits, if there are any.
impl Drop for Journals {
    fn drop(&mut self) {
        if let Some(journal) = self.visits.take().filter(|journal| self.is_whole || journal.is_empty()) {
            journal.claim.remove();
        }
        self.others.drain(..).for_each(Claim::remove);
    }
}

/// The name of what lies beside a file; nothing for what is no file, as `-`, which is standard output.
fn beside(file: &Path) -> Option<PathBuf> {
    if Target::from_argument(file) == Target::Stdout {
        return None;
    }
    let place = place(file);
    let is_file = platform::kind_at(&place).map_or(true, |kind| kind == FileKind::Regular);
    let mut name = place.file_name().filter(|_| is_file)?.to_owned();
    name.push(ENDING);
    Some(place.with_file_name(name))
}

// ---- one writer -----------------------------------------------------------------------------------------------------------

/// A file of rows that nobody else writes to. The system lets it go however the process ends.
struct Claim {
    rows: PathBuf,
    path: PathBuf,
    file: File,
}

impl Claim {
    /// Errors: that another run has it, or that it is something else's; beside them, what the system says.
    fn take(rows: &Path, path: &Path) -> Result<io::Result<Self>, Error> {
        for _ in 0..TRIES {
            let locked = regular::own(path).and_then(|(file, _)| Ok((FileExt::try_lock_exclusive(&file)?, file)));
            let (rows_shown, path_shown) = (rows.shown(), path.shown());
            let mut file = match locked {
                Ok((true, file)) if is_at(path, &file) => file,
                // Whoever had it has removed it.
                Ok((true, _)) => continue,
                Ok((false, _)) => {
                    return Err(Error::Busy(format!(
                        "another run writes to {rows_shown} (it holds {path_shown}): wait for it, or name another file"
                    )));
                }
                Err(error) => return Ok(Err(error)),
            };
            return match is_own(&mut file) {
                Ok(true) => Ok(Ok(Self { rows: rows.to_owned(), path: path.to_owned(), file })),
                Ok(false) => Err(anothers(rows, path)),
                Err(error) => Ok(Err(error)),
            };
        }
        Ok(Err(io::Error::other("other runs keep removing it")))
    }

    /// What can't be removed is empty, or what the next run goes on from.
    fn remove(self) {
        let Self { path, file, .. } = self;
        // Before anybody else can have it; where that can't be, after.
        if fs::remove_file(&path).is_err() {
            drop(file);
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether it is new, or what a run left. Then what it begins with is what every journal begins with.
fn is_own(file: &mut File) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    let expected = format!("{{\"what\":\"{KIND}");
    Read::by_ref(file).take(expected.len() as u64).read_to_end(&mut begin)?;
    Ok(expected.as_bytes().starts_with(&begin))
}

fn anothers(rows: &Path, path: &Path) -> Error {
    let words = "is no file of lanescope's, and lies where the progress of";
    Error::Usage(format!("{} {words} {} is kept: move it away", path.shown(), rows.shown()))
}

// ---- visits ---------------------------------------------------------------------------------------------------------------

#[derive(Serialize, Deserialize, PartialEq)]
struct Head {
    what: String,
    /// What the rows of each device have in common: visits count for no others.
    common: Vec<Vec<(String, String)>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    visit: Visit,
}

#[derive(Serialize, Deserialize)]
struct Visit {
    device: usize,
    case_id: String,
    spirv_hash: String,
    sizes: (Sizes, Option<Sizes>),
    /// How many visits before this one still count.
    before: usize,
    process: u32,
    /// What its clock relates to: another process may have another sentinel.
    sentinel: Nanos,
    visited: Visited,
}

type DeviceCase = (usize, String);

/// The visits to cases that have no row yet.
pub struct Journal {
    claim: Claim,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first line, with its end.
    head: String,
    /// Those of each case, as they are in the file.
    lines: BTreeMap<DeviceCase, Vec<String>>,
    earlier: HashMap<DeviceCase, Earlier>,
    failed: Option<io::Error>,
}

impl Journal {
    /// In what the run differs that left lines here; nothing where none did, or where its visits count for no newer version anyway.
    fn differing(&self, common: &[Vec<(&str, String)>]) -> io::Result<Vec<String>> {
        let mut file = &self.claim.file;
        file.seek(SeekFrom::Start(0))?;
        let mut lines = BufReader::new(file);
        let first = next_line(&mut lines)?;
        let Some(Head { common: then, .. }) = first.and_then(|line| serde_json::from_str(&line).ok()) else {
            return Ok(Vec::new());
        };
        if lines.fill_buf()?.is_empty() {
            return Ok(Vec::new());
        }
        if then.len() != common.len() {
            return Ok(vec![format!("devices were {} and are {}", then.len(), common.len())]);
        }
        let mut differing: Vec<String> = common.iter().zip(&then).flat_map(|(now, then)| differences(now, then)).collect();
        differing.retain(|words| !words.starts_with("tool_version "));
        Ok(differing)
    }

    fn begin<'c>(
        &mut self,
        common: &[Vec<(&str, String)>],
        resumes: bool,
        has_row: impl Iterator<Item = &'c String>,
    ) -> io::Result<Option<String>> {
        let mut state = State { head: head(common)?, ..State::default() };
        let mut file = &self.claim.file;
        file.seek(SeekFrom::Start(0))?;
        let mut lines = BufReader::new(file);
        let mut note = None;
        let mut whole = None;
        match next_line(&mut lines)? {
            Some(_) if !resumes && !lines.fill_buf()?.is_empty() => {
                let rows = self.claim.rows.shown();
                note =
                    Some(format!("the progress of an unfinished run is dropped; --resume {rows} would have gone on with it"));
            }
            _ if !resumes => {}
            Some(first) if first == state.head => whole = Some(state.head.len() + state.take_up(&mut lines)?),
            Some(_) => note = Some(format!("{} is of another version, or damaged, and isn't used", self.claim.path.shown())),
            None => {}
        }
        state.forget(has_row);
        note = state.going_on().map(|cases| format!("{}: going on with {cases}", self.claim.path.shown())).or(note);
        match whole {
            // What is there stays there: a kill at this moment loses nothing.
            Some(length) => cut(file, length)?,
            None => state.rewrite(file)?,
        }
        self.state = Mutex::new(state);
        Ok(note)
    }

    /// What earlier runs measured of a case that has no row.
    pub fn take(&self, device: usize, case_id: &str) -> Option<Earlier> {
        self.state().earlier.remove(&(device, case_id.to_owned()))
    }

    pub fn last_process(&self) -> u32 {
        let state = self.state();
        state.earlier.values().flat_map(|earlier| &earlier.visits).map(|(process, _)| *process).max().unwrap_or(0)
    }

    pub fn note(&self, device: usize, case_id: &str, made: &VisitMade) {
        let VisitMade { spirv_hash, sizes, before, process, sentinel, visited, .. } = *made;
        let (case_id, spirv_hash, visited) = (case_id.to_owned(), spirv_hash.to_owned(), visited.clone());
        let place = (device, case_id.clone());
        let mut state = self.state();
        if state.failed.is_some() {
            return;
        }
        let line = Line { visit: Visit { device, case_id, spirv_hash, sizes, before, process, sentinel, visited } };
        let written = serde_json::to_string(&line).map_err(io::Error::from).and_then(|text| {
            let text = format!("{text}\n");
            // At once, so that what is killed leaves whole lines.
            (&self.claim.file).write_all(text.as_bytes())?;
            state.lines.entry(place).or_default().push(text);
            Ok(())
        });
        if let Err(error) = written {
            state.give_up(&self.claim.file, error);
        }
    }

    /// Forgets the visits of cases that have rows.
    pub fn settle(&self, device: usize, case_ids: &[String]) {
        let mut state = self.state();
        let before = state.lines.len();
        case_ids.iter().for_each(|case_id| drop(state.lines.remove(&(device, case_id.clone()))));
        if state.lines.len() < before && state.failed.is_none() {
            if let Err(error) = state.rewrite(&self.claim.file) {
                state.give_up(&self.claim.file, error);
            }
        }
    }

    pub fn failure(&self) -> Option<String> {
        let path = self.claim.path.shown();
        self.state().failed.as_ref().map(|error| format!("can't write {path}: {error}; what is stopped early is measured anew"))
    }

    /// Whether it holds no visits; what was never begun is as an earlier run left it.
    fn is_empty(&self) -> bool {
        let state = self.state();
        let is_as_found = state.head.is_empty();
        if is_as_found { self.claim.file.metadata().is_ok_and(|file| file.len() == 0) } else { state.lines.is_empty() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shortens a file to so many bytes, and goes on behind them.
fn cut(mut file: &File, length: usize) -> io::Result<()> {
    file.set_len(length as u64)?;
    file.seek(SeekFrom::Start(length as u64)).map(drop)
}

/// The next line with its end; nothing at the end, and for what is none: torn where a machine lost its power, or somebody else's.
fn next_line(lines: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    lines.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8(line).ok().filter(|line| line.ends_with('\n')))
}

fn head(common: &[Vec<(&str, String)>]) -> io::Result<String> {
    let common = common.iter().map(|pairs| pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
    let head = Head { what: VERSION.to_owned(), common: common.collect() };
    Ok(serde_json::to_string(&head)? + "\n")
}

impl State {
    /// Leaves what room there is to the rows.
    fn give_up(&mut self, file: &File, error: io::Error) {
        self.lines.clear();
        self.failed = Some(error);
        // What can't be emptied either holds whole lines, but for the last.
        let _ = file.set_len(0);
    }

    /// Takes the lines of an earlier run, up to one that was torn or damaged. Tells how many bytes they have.
    fn take_up(&mut self, lines: &mut impl BufRead) -> io::Result<usize> {
        let mut taken = 0;
        while let Some(line) = next_line(lines)? {
            let Ok(Line { visit }) = serde_json::from_str(&line) else { break };
            let Visit { device, case_id, spirv_hash, sizes, before, process, sentinel, mut visited } = visit;
            if !Earlier::can_have(&sizes, process, sentinel, &visited) {
                break;
            }
            taken += line.len();
            let place = (device, case_id);
            let lines = self.lines.entry(place.clone()).or_default();
            let new = || Earlier { spirv_hash: spirv_hash.clone(), sizes, sentinel, visits: Vec::new() };
            let earlier = self.earlier.entry(place).or_insert_with(new);
            let goes_on = earlier.spirv_hash == spirv_hash && earlier.sizes == sizes && before <= earlier.visits.len();
            let kept = if goes_on { before } else { 0 };
            earlier.visits.truncate(kept);
            lines.truncate(kept);
            (earlier.spirv_hash, earlier.sizes) = (spirv_hash, sizes);
            visited.conditions.relate(sentinel, earlier.sentinel);
            earlier.visits.push((process, visited));
            lines.push(line);
        }
        Ok(taken)
    }

    fn going_on(&self) -> Option<String> {
        match self.earlier.len() {
            0 => None,
            1 => Some("1 case that was stopped early".to_owned()),
            count => Some(format!("{count} cases that were stopped early")),
        }
    }

    /// Drops the visits of cases that have rows: searches alone take rows as measured, on the one device that they have.
    fn forget<'c>(&mut self, case_ids: impl Iterator<Item = &'c String>) {
        for case_id in case_ids {
            let key = (0, case_id.clone());
            drop((self.lines.remove(&key), self.earlier.remove(&key)));
        }
    }

    fn rewrite(&self, mut file: &File) -> io::Result<()> {
        let lines: String = self.lines.values().flatten().map(String::as_str).collect();
        cut(file, 0)?;
        file.write_all(format!("{}{lines}", self.head).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lies_beside_what_is_no_file() {
        assert_eq!(beside(Path::new("-")), None);
        assert!(beside(Path::new("./-")).is_some_and(|path| path.ends_with("-.progress")));
    }
}
