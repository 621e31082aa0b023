//! The tuning table as this program reads and writes it: with what its other files ask for, and locked, so that it accumulates over
//! runs. What a table is, and how an application uses it, is the crate `lanescope-table`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs4::fs_std::FileExt;
use lanescope_table::{Table, TableError};
use thiserror::Error;

use crate::model::Shown;
use crate::regular::{self, TABLE};
use crate::staged::{Staged, followed};

/// Why a table can't be saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The system refuses.
    #[error("can't write {}: {cause}", .path.shown())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is something else.
    #[error(transparent)]
    NoTable(TableError),
}

/// Reads a table.
///
/// # Errors
/// Where there is none, or one that this program doesn't understand.
pub fn read_table(path: &Path) -> Result<Table, TableError> {
    let text = regular::read(path, TABLE).map_err(|cause| TableError::Read { path: path.to_owned(), cause })?;
    parse(&text, path)
}

/// Adds a table's entries to a file, which is created where it isn't there, and takes over into the table what others wrote
/// meanwhile: of two entries for the same case, the later one stays. The file is replaced as a whole, and held by a lock
/// (`FILE.lock` beside it, which stays) while it is read and written, so that processes that save at the same time lose
/// nothing of each other's.
///
/// # Errors
/// Where the file can't be written, or is no table: it then stays as it was.
pub fn save_table(table: &mut Table, path: &Path) -> Result<(), SaveError> {
    let failed = |cause| SaveError::Write { path: path.to_owned(), cause };
    // Links to one table share its lock.
    let target = followed(path);
    let _lock = lock(&target, PATIENCE).map_err(failed)?;
    match regular::read(&target, TABLE) {
        Ok(text) => table.merge(parse(&text, path).map_err(SaveError::NoTable)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let staged = Staged::new(&target);
    staged.write(table.text().map_err(|error| failed(error.into()))?.as_bytes()).map_err(failed)
}

fn parse(text: &[u8], path: &Path) -> Result<Table, TableError> {
    Table::parse(text).map_err(|cause| TableError::Form { path: path.to_owned(), cause })
}

/// How long somebody else may hold the lock of a table: far longer than saving one takes. Anybody who can read it can hold it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits so long for the lock beside a file; the system lets it go however the process ends.
fn lock(target: &Path, patience: Duration) -> io::Result<File> {
    let Some(name) = target.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut name = name.to_owned();
    name.push(".lock");
    let (path, begun) = (target.with_file_name(name), Instant::now());
    let (file, _) = regular::shared_lock(&path)?;
    while !FileExt::try_lock_exclusive(&file)? {
        if begun.elapsed() >= patience {
            let (seconds, path) = (patience.as_secs(), path.shown());
            let how = format!("after {seconds} s another process still locks {path}: try again, or name another table");
            return Err(io::Error::new(io::ErrorKind::TimedOut, how));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::SystemTime;

    use lanescope_table::{AxisValue, DeviceId, DriverId, KernelId, TableEntry, Uuid};

    use super::*;

    #[test]
    fn a_lock_that_is_never_let_go_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let held = lock(&path, Duration::ZERO).unwrap();
        let refused = lock(&path, Duration::from_millis(50)).unwrap_err().to_string();
        assert!(refused.contains("another process still locks") && refused.contains("table.json.lock"), "{refused}");
        drop(held);
        assert!(lock(&path, Duration::ZERO).is_ok());
    }

    fn entry(n: u64, local_size_x: u64, seconds: u64) -> TableEntry {
        TableEntry {
            kernel: KernelId { name: "blur.comp".into(), hash: "v1".into() },
            device: DeviceId { name: "one".into(), vendor_id: 1, device_id: 10, uuid: Uuid([1; 16]) },
            driver: DriverId { id: "MESA_RADV".into(), name: "radv".into(), info: "Mesa 24".into() },
            size: BTreeMap::from([("n".to_owned(), n)]),
            configuration: BTreeMap::from([("local_size_x".to_owned(), AxisValue::from(local_size_x))]),
            time_ns: 1000.0 / 3.0,
            ci_low_ns: 300.0,
            ci_high_ns: 400.0,
            when: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            tool_version: "v0.1.0".into(),
        }
    }

    fn table(entries: impl IntoIterator<Item = TableEntry>) -> Table {
        let mut table = Table::default();
        entries.into_iter().for_each(|entry| assert_eq!(table.insert(entry), None));
        table
    }

    #[test]
    fn saving_a_table_again_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let mut written = table([entry(64, 8, 1), entry(1 << 40, 16, 2)]);
        save_table(&mut written, &path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!((read_table(&path).unwrap(), Table::load(&path).unwrap()), (written.clone(), written.clone()));
        save_table(&mut written, &path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // Nothing else of it lies there.
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["table.json", "table.json.lock"]);
    }

    #[test]
    fn what_others_save_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let (mut one, mut other) = (table([entry(1, 8, 5)]), table([entry(1, 16, 6), entry(2, 16, 6)]));
        save_table(&mut one, &path).unwrap();
        save_table(&mut other, &path).unwrap();
        // The later entry stays, whoever saves last.
        one.insert(entry(3, 8, 7));
        save_table(&mut one, &path).unwrap();
        let expected = table([entry(1, 16, 6), entry(2, 16, 6), entry(3, 8, 7)]);
        assert_eq!((read_table(&path).unwrap(), one), (expected.clone(), expected));
    }

    #[test]
    fn who_saves_at_the_same_time_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = &path;
                scope.spawn(move || (0..8).for_each(|i| save_table(&mut table([entry(8 * thread + i, 8, 1)]), path).unwrap()));
            }
        });
        let sizes: Vec<u64> = read_table(&path).unwrap().entries().map(|entry| entry.size["n"]).collect();
        assert_eq!(sizes, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_table_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        for (text, expected) in [
            ("{\"version\": 1, \"entries\": [", "is no tuning table: EOF"),
            ("{\"version\": 2, \"anything\": 1}", "of version 2, and this program knows version 1"),
        ] {
            fs::write(&path, text).unwrap();
            let read = read_table(&path).unwrap_err().to_string();
            let saved = save_table(&mut table([entry(1, 1, 1)]), &path).unwrap_err().to_string();
            assert!(read.contains(expected) && read == saved, "{read}, and {saved}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_can_not_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let failed = |mut table: Table, path: &Path| save_table(&mut table, path).unwrap_err().to_string();
        let endless = TableEntry { time_ns: f64::INFINITY, ..entry(1, 1, 1) };
        assert!(failed(table([endless]), &path).contains("no finite number"));
        assert!(!path.exists());
        assert!(failed(table([]), &folder.path().join("no/table.json")).starts_with("can't write"));
    }
}
