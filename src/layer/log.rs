//! The file that a device's kernels and times are written to, line by line: what was written stays, however the process ends.
//!
//! Fields are separated by tabs; text has no tabs or line ends in it. The first word says what a line is:
//!
//! | line | fields |
//! |---|---|
//! | `capture` | version of this format, process, how dispatches are timed (`isolated` or not), its program |
//! | `device` | UUIDs of the device and of the driver, nanoseconds per tick, name |
//! | `kernel` | number, module, entry point, constants (bytes in hex by id), required subgroup size or 0, with `full` behind it where subgroups are required to be full, debug name |
//! | `executable` | kernel, subgroup size, name, then `NAME=VALUE` for each statistic: a letter for its type (`b`, `i`, `u`, `f`), its value |
//! | `dispatch` | number, kernel, groups in x, y and z (`?` where the device alone knows), bytes bound, label around it |
//! | `recorded` | dispatch, how often it was recorded so far: each time that this has doubled |
//! | `times` | submission, queue family, then for each dispatch `NUMBER:START:TICKS`, or `NUMBER` alone of one that wasn't timed; behind it `@X,Y,Z` of an indirect one whose groups the device read |
//! | `floor` | ticks between two timestamps with nothing between them |
//! | `not-followed` | kind, how often so far |

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

/// The folder to write to. Without it the layer passes all calls on.
pub const FOLDER: &str = "LANESCOPE_CAPTURE_FOLDER";
/// `isolated`: full barriers stand around each dispatch; `overlapped`: none do; `none`: dispatches are counted and not timed.
pub const TIMING: &str = "LANESCOPE_CAPTURE_TIMING";
/// Which submissions count: `AFTER,SUBMISSIONS,SECONDS`, each a number or empty. `AFTER` are submissions that are passed over.
pub const PART: &str = "LANESCOPE_CAPTURE_PART";

/// How dispatches are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    Isolated,
    Overlapped,
    None,
}

/// What the environment asks for.
pub(crate) struct Order {
    pub(crate) folder: PathBuf,
    pub(crate) timing: Timing,
    after: u64,
    submissions: Option<u64>,
    seconds: Option<f64>,
}

/// Whether each dispatch runs alone.
pub(crate) fn is_isolated() -> bool {
    ORDER.as_ref().is_some_and(|order| order.timing == Timing::Isolated)
}

/// Nothing where nothing is to be captured.
pub(crate) static ORDER: LazyLock<Option<Order>> = LazyLock::new(|| {
    let folder = env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
    let timing = match env::var(TIMING).as_deref() {
        Ok("overlapped") => Timing::Overlapped,
        Ok("none") => Timing::None,
        _ => Timing::Isolated,
    };
    let part = env::var(PART).unwrap_or_default();
    let mut part = part.split(',');
    let mut next = || part.next().unwrap_or_default();
    let (after, submissions, seconds) = (next().parse().unwrap_or(0), next().parse().ok(), next().parse().ok());
    Some(Order { folder: folder.into(), timing, after, submissions, seconds })
});

impl Order {
    /// Whether a submission counts, by its number from 0, and when the first one came that did.
    pub(crate) fn has(&self, submission: u64, first: Option<Instant>) -> bool {
        let is_in_time = || self.seconds.is_none_or(|most| first.is_none_or(|first| first.elapsed().as_secs_f64() < most));
        submission >= self.after && self.submissions.is_none_or(|most| submission - self.after < most) && is_in_time()
    }
}

/// A file of this process that isn't there yet: the loader unloads the layer with the last instance, so that nothing here is remembered.
fn new_file(folder: &Path) -> io::Result<File> {
    for number in 0.. {
        let path = folder.join(format!("{}-{number}.log", process::id()));
        match OpenOptions::new().append(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Leaves word that the layer was there, for a program that makes an instance and no device.
pub(crate) fn note_instance() {
    if let Some(order) = ORDER.as_ref() {
        // Whoever comes second says the same.
        drop(File::create(order.folder.join(INSTANCE)));
    }
}

/// An empty file in the folder: an instance was made.
const INSTANCE: &str = "instance";

/// What is written of a device.
pub(crate) struct Log {
    file: Mutex<Option<File>>,
    modules: PathBuf,
    not_followed: Mutex<BTreeMap<&'static str, u64>>,
}

impl Log {
    /// A new file in the folder. Where that can't be made, nothing is written.
    pub(crate) fn new(folder: &Path) -> Self {
        let file = new_file(folder).ok();
        let new = Self { file: Mutex::new(file), modules: folder.to_owned(), not_followed: Mutex::default() };
        let program = env::current_exe().unwrap_or_default();
        let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let timing = if is_isolated() { "isolated" } else { "" };
        new.line(&format!("capture\t1\t{}\t{timing}\t{}", process::id(), clean(&program)));
        new
    }

    /// Writes a line at once, whole.
    pub(crate) fn line(&self, text: &str) {
        self.lines(&format!("{text}\n"));
    }

    /// The same of several lines, each with its end.
    pub(crate) fn lines(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = file.as_mut() {
            // A full disk ends the log, not the application.
            if open.write_all(text.as_bytes()).is_err() {
                *file = None;
            }
        }
    }

    /// Notes something that isn't followed.
    pub(crate) fn not_followed(&self, kind: &'static str) {
        let mut all = self.not_followed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(kind).or_default();
        *count += 1;
        // Counts of what comes often are written when they have doubled.
        if count.is_power_of_two() {
            self.line(&format!("not-followed\t{kind}\t{count}"));
        }
    }

    /// Writes the counts as they are.
    pub(crate) fn finish(&self) {
        let all = self.not_followed.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in all.iter() {
            self.line(&format!("not-followed\t{kind}\t{count}"));
        }
    }

    /// Writes a module once, whichever process comes first.
    pub(crate) fn module(&self, name: &str, words: &[u32]) {
        let path = self.modules.join(format!("{name}.spv"));
        if path.exists() {
            return;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let part = self.modules.join(format!("{name}.{}.part", process::id()));
        if fs::write(&part, bytes).is_ok() {
            // Whoever comes second writes the same.
            drop(fs::rename(&part, path));
        }
    }
}

/// Text for a field.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
