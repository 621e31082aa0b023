//! Rows go out: CSV, JSON lines, tables for people; and progress on the error stream.
//!
//! All outputs are opened before anything is measured, and every row reaches all of them at once and whole (a table's rows once
//! their experiment is complete).

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use crate::error::Error;
use crate::model::{Published, Shown};
use crate::platform;
use crate::record::{Header, Record};
use files::{Shared, WHOLE, WholeLines, check_file, empty};

mod answer;
mod card;
mod code;
mod comparison;
mod csv;
mod files;
mod json;
mod jsonl;
mod lines;
mod page;
mod people;
mod progress;
pub mod prose;
mod samples;
mod table;
mod targets;
#[cfg(test)]
mod testing;
mod text_table;
mod tone;
pub mod trace;
mod view;

pub use crate::staged::Staged;

pub use answer::{answer_in_sentences, answer_text, bearing, effects_text};
pub use card::{CardWriter, card_labels};
pub use code::{CodeFolder, case_file};
pub use comparison::{
    Names, Report, answer_and_rest, comparison_csv, comparison_jsonl, comparison_text, in_short as comparison_in_short,
};
pub use csv::Csv;
pub use files::{copy_beside, is_at, is_same_file, open_file, place, stop_writing, write_whole};
pub use json::json;
pub use jsonl::Jsonl;
pub use lines::paragraph;
pub use page::{Page, choose_colours};
use people::{STDOUT, stdout_closed};
pub use people::{hand_over, say, show};
pub use progress::{Bar, Mode, Progress};
pub use samples::Samples;
pub use table::{Style, Table};
pub use targets::{RowTargets, finish_staged, is_terminal, row_targets, stage};
pub use text_table::{Cell, Column, Need, TextTable, remark};
pub use tone::{Tone, in_a_line, is_unseen, legible};
pub use view::row_table;

pub trait Writer {
    fn write(&mut self, record: &Record) -> io::Result<()>;

    /// Writes what is held back; no row follows.
    fn finish(&mut self) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    /// One JSON object per row, every column that isn't empty.
    Jsonl,
    /// For people: the columns that matter.
    Table,
    Markdown,
    /// For people: what the device is, in a few lines.
    Card,
}

impl Format {
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "csv" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            "md" | "markdown" => Ok(Self::Markdown),
            "txt" => Ok(Self::Table),
            _ => Err(Error::Usage(format!(
                "can't tell the format of output `{}` by its ending: use .csv, .jsonl or .ndjson, .md or .markdown, or .txt (a table)",
                path.shown()
            ))),
        }
    }

    /// The format for standard output where none is asked for: a table for eyes, CSV for pipes.
    pub fn for_stdout(is_terminal: bool) -> Self {
        if is_terminal { Self::Table } else { Self::Csv }
    }

    /// Whether a file of this format is one line for each row, and perhaps one above them.
    fn has_a_line_for_each(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl)
    }

    /// Writes rows in this format; what is for people fits this page. `files` hold them as well, and `limits` are the user's own.
    fn writer<W: Write + Send + 'static>(
        self,
        out: W,
        header: &Header,
        files: &[String],
        page: Page,
        limits: Option<&Published>,
    ) -> io::Result<Box<dyn Writer + Send>> {
        Ok(match self {
            Self::Csv => Box::new(Csv::new(out, header)?),
            Self::Jsonl => Box::new(Jsonl::new(out, header)),
            Self::Table => Box::new(Table::new(out, Style::Text(page))),
            Self::Markdown => Box::new(Table::new(out, Style::Markdown)),
            Self::Card => Box::new(CardWriter::new(out, files.to_vec(), page, limits.cloned())),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Stdout,
    File(PathBuf),
    /// A file that holds rows of this run already, in the same columns: more are appended.
    Continued(PathBuf),
}

impl Target {
    /// As `--output` takes it: `-` is standard output.
    pub fn from_argument(path: &Path) -> Self {
        if path == Path::new("-") { Self::Stdout } else { Self::File(path.to_owned()) }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File(path) | Self::Continued(path) => Some(path),
        }
    }

    /// Whether both lead to one place, where they would overwrite each other.
    fn is_same(&self, other: &Self) -> bool {
        let are_one_file = |(one, other)| is_same_file(one, other);
        self == other || self.path().zip(other.path()).is_some_and(are_one_file)
    }

    fn name(&self) -> String {
        self.path().map_or_else(|| STDOUT.to_owned(), Shown::shown)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "where nobody reads any more, measuring is to end"]
pub enum WriteOutcome {
    Written,
    /// Standard output was the last output, and its reader has gone: a reason to end quietly.
    Closed,
}

struct Sink {
    name: String,
    path: Option<PathBuf>,
    /// Whether it held rows when it was opened.
    is_continued: bool,
    writer: Box<dyn Writer + Send>,
    /// The file, or what stands for one.
    file: Option<Shared>,
    /// Whether each row is a line of it: rows that hold for now can go again.
    has_lines: bool,
}

#[derive(Default)]
pub struct Outputs {
    sinks: Vec<Sink>,
    closed: bool,
}

/// Opens all outputs. No file is emptied before all of them could be opened, and where one can't be, none is left that wasn't there.
pub fn open(targets: &[(Target, Format)], header: &Header) -> Result<Outputs, Error> {
    Reserved::new(targets)?.begin(header)
}

/// Tells what keeps rows from being written, as far as that shows before anything is made or changed: whoever waits for a device isn't to
/// hear of it afterwards.
pub fn check(targets: &[(Target, Format)]) -> Result<(), Error> {
    check_apart(targets)?;
    targets.iter().try_for_each(|(target, _)| {
        let checked = match target.path() {
            Some(path) => check_file(path),
            None => platform::check_room(io::stdout()),
        };
        // Also where it is only full: nothing was measured.
        checked.map_err(|cause| Error::Usage(format!("can't write {}: {cause}", target.name())))
    })
}

/// Errors: two outputs that lead to one place, and standard output that is closed.
fn check_apart(targets: &[(Target, Format)]) -> Result<(), Error> {
    for (i, (target, _)) in targets.iter().enumerate() {
        if targets[..i].iter().any(|(earlier, _)| earlier.is_same(target)) {
            return Err(Error::Usage(format!("output `{}` is given twice", target.name())));
        }
        if *target == Target::Stdout && platform::is_stdout_closed() {
            return Err(stdout_closed());
        }
    }
    Ok(())
}

/// Outputs that could be opened, and are as they were until something is to be written: dropped before, they leave no file behind
/// that wasn't there.
pub struct Reserved<'t> {
    targets: &'t [(Target, Format)],
    files: Vec<Option<File>>,
    /// Those that were made just now.
    made: Vec<&'t Path>,
    /// The user's own limits of devices.
    limits: Option<&'t Published>,
}

impl<'t> Reserved<'t> {
    pub fn new(targets: &'t [(Target, Format)]) -> Result<Self, Error> {
        check_apart(targets)?;
        let mut reserved = Self { targets, files: Vec::new(), made: Vec::new(), limits: None };
        for (target, _) in targets {
            let Some(path) = target.path() else {
                reserved.files.push(None);
                continue;
            };
            let (file, is_new) = open_file(path).map_err(|cause| Error::Output { path: target.name(), cause })?;
            reserved.files.push(Some(file));
            reserved.made.extend(is_new.then_some(path));
        }
        Ok(reserved)
    }

    /// Shows figures beside the user's own limits of devices, where it shows any.
    #[must_use]
    pub fn beside(mut self, limits: Option<&'t Published>) -> Self {
        self.limits = limits;
        self
    }

    /// Empties them but for what is continued, and writes what stands above the rows.
    pub fn begin(mut self, header: &Header) -> Result<Outputs, Error> {
        let mut outputs = Outputs::default();
        let files: Vec<String> =
            self.targets.iter().filter(|(target, _)| *target != Target::Stdout).map(|(target, _)| target.name()).collect();
        for ((target, format), file) in self.targets.iter().zip(std::mem::take(&mut self.files)) {
            let is_continued = matches!(target, Target::Continued(_));
            let opened = match file {
                None => format.writer(io::stdout(), header, &files, Page::stdout(), self.limits).map(|writer| (writer, None)),
                Some(file) if is_continued => WholeLines::at_end(file).map(|file| {
                    let file = Shared::new(file);
                    (Box::new(Csv::continued(file.clone(), header)) as Box<dyn Writer + Send>, Some(file))
                }),
                Some(file) => empty(&file).and_then(|()| {
                    let file = Shared::new(WholeLines::new(file));
                    Ok((format.writer(file.clone(), header, &files, Page::FILE, self.limits)?, Some(file)))
                }),
            };
            match opened {
                Ok((writer, file)) => {
                    let path = target.path().map(Path::to_owned);
                    let can_be_cut = file.as_ref().is_some_and(|file| file.lock().can_be_cut());
                    let has_lines = can_be_cut && format.has_a_line_for_each();
                    outputs.sinks.push(Sink { name: target.name(), path, is_continued, writer, file, has_lines });
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => outputs.closed = true,
                Err(cause) => return Err(Error::Output { path: target.name(), cause }),
            }
        }
        self.made.clear();
        Ok(outputs)
    }
}

/// Those that were made for it go again where another can't be opened. One that can't be removed is empty, and does no harm.
impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.files.clear();
        self.made.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

impl Outputs {
    /// Writes a row to all outputs. A pipe that nobody reads any more is dropped; the other outputs go on.
    /// Where one can't be written, the error has its name; the others have the row nevertheless.
    pub fn write(&mut self, record: &Record) -> io::Result<WriteOutcome> {
        self.each(|sink| sink.settled()?.write(record))
    }

    /// Writes rows for good, and `below` them others that may change: files of lines have those until they are written above, or all is
    /// finished. So a process that is killed leaves them. Other outputs don't get them.
    pub fn write_above<'r>(
        &mut self,
        rows: &[Record],
        below: impl Iterator<Item = &'r Record> + Clone,
    ) -> io::Result<WriteOutcome> {
        self.each(|sink| match sink.file.clone().filter(|_| sink.has_lines) {
            None => rows.iter().try_for_each(|row| sink.writer.write(row)),
            Some(file) => {
                file.lock().gather();
                let gathered = rows.iter().try_for_each(|row| sink.writer.write(row));
                let above = file.lock().gathered();
                let gathered = gathered.and_then(|()| below.clone().try_for_each(|row| sink.writer.write(row)));
                file.lock().put(above).and(gathered)
            }
        })
    }

    /// Writes a row that came from elsewhere to the outputs that haven't got it yet.
    pub fn pass_on(&mut self, record: &Record) -> io::Result<WriteOutcome> {
        self.each(|sink| if sink.is_continued { Ok(()) } else { sink.settled()?.write(record) })
    }

    /// Whether there are such outputs.
    pub fn lacks_rows(&self) -> bool {
        self.sinks.iter().any(|sink| !sink.is_continued)
    }

    /// Writes what is held back. Nothing may be written after it.
    /// Where a file isn't where it was, or was cut, the error says where its rows are.
    pub fn finish(&mut self) -> io::Result<WriteOutcome> {
        self.each(|sink| {
            sink.settled()?.finish()?;
            sink.find_again()
        })
    }

    fn each(&mut self, mut act: impl FnMut(&mut Sink) -> io::Result<()>) -> io::Result<WriteOutcome> {
        let _whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failed = None;
        let mut closed = self.closed;
        self.sinks.retain_mut(|sink| match act(sink) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                closed = true;
                false
            }
            Err(error) => {
                failed.get_or_insert_with(|| io::Error::new(error.kind(), format!("can't write {}: {error}", sink.name)));
                true
            }
            Ok(()) => true,
        });
        self.closed = closed;
        match failed {
            Some(error) => Err(error),
            None if closed && self.sinks.is_empty() => Ok(WriteOutcome::Closed),
            None => Ok(WriteOutcome::Written),
        }
    }
}

impl Sink {
    /// Its writer, once what held for now is taken back.
    fn settled(&mut self) -> io::Result<&mut dyn Writer> {
        if let Some(file) = &self.file {
            file.lock().drop_held()?;
        }
        Ok(self.writer.as_mut())
    }

    /// Looks whether its file is still where it was, with all that was written. What bears no name any more is saved.
    fn find_again(&self) -> io::Result<()> {
        let (Some(path), Some(file)) = (&self.path, &self.file) else { return Ok(()) };
        file.lock().find_again(path)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Shared, measured};
    use super::*;

    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sink(out: impl Write + Send + 'static) -> Sink {
        let writer = Box::new(Jsonl::new(out, &Header::new(["n"])));
        Sink { name: "rows".to_owned(), path: None, is_continued: false, writer, file: None, has_lines: false }
    }

    #[test]
    fn endings_tell_the_format() {
        let format = |path: &str| Format::from_path(Path::new(path));
        let known = ["a/b.CSV", "b.ndjson", "b.md", "b.txt"].map(|path| format(path).unwrap());
        assert_eq!(known, [Format::Csv, Format::Jsonl, Format::Markdown, Format::Table]);
        insta::assert_snapshot!(format("rows.xlsx").unwrap_err(), @"can't tell the format of output `rows.xlsx` by its ending: use .csv, .jsonl or .ndjson, .md or .markdown, or .txt (a table)");
    }

    #[test]
    fn no_file_is_emptied_where_another_cant_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, missing) = (folder.path().join("kept.csv"), folder.path().join("no/such.csv"));
        std::fs::write(&kept, "old").unwrap();
        let targets = [kept.clone(), missing].map(|path| (Target::File(path), Format::Csv));
        let error = open(&targets, &Header::new(["n"])).err().unwrap();
        assert!(matches!(&error, Error::Output { path, .. } if path.ends_with("such.csv")), "{error}");
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "old");
        // Under other names as well, there or not yet.
        let detour = |name: &str| folder.path().join("..").join(folder.path().file_name().unwrap()).join(name);
        for (one, other) in [
            (kept.clone(), kept.clone()),
            (kept.clone(), detour("kept.csv")),
            (folder.path().join("new.csv"), detour("new.csv")),
        ] {
            let twice = [one, other].map(|path| (Target::File(path), Format::Csv));
            assert!(matches!(open(&twice, &Header::new(["n"])), Err(Error::Usage(_))));
        }
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "old");
        assert!(!is_same_file(Path::new("/dev/null"), Path::new("/dev/../dev/null")) || cfg!(windows));
    }

    #[test]
    fn rows_are_in_every_output_at_once_and_those_that_hold_for_now_go_when_others_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["rows.csv", "rows.jsonl", "rows.md"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], "something older and longer than what comes now".repeat(100)).unwrap();
        let targets = paths.clone().map(|path| (Target::File(path.clone()), Format::from_path(&path).unwrap()));
        let mut outputs = open(&targets, &Header::new(["n"])).unwrap();
        let row = |experiment: &str| measured(experiment, 1.0);
        let texts = || paths.each_ref().map(|path| std::fs::read_to_string(path).unwrap());
        let lines = || texts().map(|text| text.lines().count());
        let written = |outcome: io::Result<WriteOutcome>| assert_eq!(outcome.unwrap(), WriteOutcome::Written);
        assert_eq!(lines()[..2], [1, 0]);
        written(outputs.write(&row("memory/stream")));
        assert_eq!(lines()[..2], [2, 1]);
        let [held, again, final_row] = ["tune/held", "tune/again", "tune/final"].map(row);
        written(outputs.write_above(&[], [&held, &again].into_iter()));
        assert_eq!(lines()[..2], [4, 3]);
        written(outputs.write_above(&[], [&held].into_iter()));
        assert_eq!(lines()[..2], [3, 2], "in the place of those before");
        written(outputs.write_above(&[final_row], [&held].into_iter()));
        assert_eq!(lines()[..2], [4, 3], "above those");
        written(outputs.finish());
        assert_eq!(lines()[..2], [3, 2]);
        for text in texts() {
            assert!(text.contains("final") && !text.contains("held") && !text.contains("again"), "{text}");
        }
    }

    #[test]
    fn outputs_that_are_never_begun_are_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old.csv", "new.csv"].map(|name| folder.path().join(name));
        std::fs::write(&old, "rows").unwrap();
        let targets = [old.clone(), new.clone()].map(|path| (Target::File(path), Format::Csv));
        drop(Reserved::new(&targets).unwrap());
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "rows");
        assert!(!new.exists());
        drop(Reserved::new(&targets).unwrap().begin(&Header::new(["n"])).unwrap());
        assert_eq!(std::fs::read_to_string(&old).unwrap(), std::fs::read_to_string(&new).unwrap());
    }

    /// A closed pipe ends the run only if nothing else is written, and a full disk is told by name.
    #[test]
    fn an_output_that_fails_spares_the_others() {
        let row = measured("memory/stream", 1.0);
        let beside = |kind| {
            let shared = Shared::default();
            let mut outputs = Outputs { sinks: vec![sink(Failing(kind)), sink(shared.clone())], closed: false };
            let outcome = outputs.write(&row);
            assert_eq!(shared.text().lines().count(), 1);
            outcome
        };
        assert_eq!(beside(ErrorKind::BrokenPipe).unwrap(), WriteOutcome::Written);
        let error = beside(ErrorKind::StorageFull).unwrap_err();
        assert!(error.to_string().starts_with("can't write rows: "), "{error}");
        let mut alone = Outputs { sinks: vec![sink(Failing(ErrorKind::BrokenPipe))], closed: false };
        assert_eq!(alone.write(&row).unwrap(), WriteOutcome::Closed);
        assert_eq!(alone.finish().unwrap(), WriteOutcome::Closed);
    }
}
