//! The tuning table: the best configurations that were found, per device, driver, kernel and problem size. It accumulates over
//! runs, and an application that ships with it looks up what to use where it runs.

mod entry;
mod find;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs4::fs_std::FileExt;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::model::Shown;
use crate::regular::{self, TABLE};
use crate::staged::Staged;

use self::entry::Key;
pub(super) use self::entry::LAST;
pub use self::entry::{DeviceId, DriverId, KernelId, TableEntry};
pub use self::find::{Match, Quality, Query};

/// The version of the file's form. Any change of the form raises it, so that no version loses what another one wrote.
const VERSION: u64 = 1;

/// The best configurations that were found: at most one per kernel, device, driver and problem size.
///
/// `lanescope tune --save-table FILE` writes one; an application reads it and asks for the device that it runs on:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::time::SystemTime;
///
/// use lanescope::model::{AxisValue, Uuid};
/// use lanescope::tuning::{DeviceId, DriverId, TableEntry, KernelId, Quality, Query, Table};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tuning.json");
/// // What VkPhysicalDeviceProperties and VkPhysicalDeviceDriverProperties say.
/// let device = DeviceId { name: "NVIDIA H100".into(), vendor_id: 0x10de, device_id: 0x2330, uuid: Uuid([7; 16]) };
/// let driver = DriverId { id: "NVIDIA_PROPRIETARY".into(), name: "NVIDIA".into(), info: "570.1".into() };
/// let size = |n| BTreeMap::from([("n".to_owned(), n)]);
///
/// let mut table = Table::default();
/// table.insert(TableEntry {
///     kernel: KernelId { name: "blur.comp".into(), hash: "v0123456789abcdef".into() },
///     device: device.clone(),
///     driver: driver.clone(),
///     size: size(1 << 20),
///     configuration: BTreeMap::from([("local_size_x".to_owned(), AxisValue::from(128_u64))]),
///     time_ns: 1500.0,
///     ci_low_ns: 1490.0,
///     ci_high_ns: 1520.0,
///     when: SystemTime::now(),
///     tool_version: "v0.1.0".into(),
/// });
/// table.save(&path)?;
///
/// let table = Table::load(&path)?;
/// let query = Query { kernel: "blur.comp", device: &device, driver: &driver, size: &size(1 << 21) };
/// let found = table.find(&query).expect("the kernel is known");
/// assert_eq!(found.quality, Quality::NearestSize);
/// assert_eq!(found.configuration["local_size_x"], AxisValue::from(128_u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    entries: BTreeMap<Key, TableEntry>,
}

/// Why a table can't be read or written.
#[derive(Debug, Error)]
pub enum TableError {
    /// The system refuses.
    #[error("can't {action} {}: {cause}", .path.shown())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is something else, or damaged.
    #[error("{} is no tuning table: {cause}", .path.shown())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        cause: serde_json::Error,
    },
    /// Another version of this program wrote it.
    #[error("{} is a tuning table of version {found}, and this program knows version {VERSION}: use one as new as the table, or start another table", .path.shown())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

/// What tells a table's version, whatever else is in it.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// The file's form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<E> {
    version: u64,
    entries: E,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// Where there is none, or one that this program doesn't understand.
    pub fn load(path: &Path) -> Result<Self, TableError> {
        let text =
            regular::read(path, TABLE).map_err(|cause| TableError::Io { action: "read", path: path.to_owned(), cause })?;
        Self::parse(&text, path)
    }

    /// Adds this table's entries to a file, which is created where it isn't there, and takes over what others wrote meanwhile:
    /// of two entries for the same case, the later one stays. The file is replaced as a whole, and held by a lock
    /// (`FILE.lock` beside it, which stays) while it is read and written, so that processes that save at the same time lose
    /// nothing of each other's.
    ///
    /// # Errors
    /// Where the file can't be written, or is no table: it then stays as it was.
    pub fn save(&mut self, path: &Path) -> Result<(), TableError> {
        let failed = |cause| TableError::Io { action: "write", path: path.to_owned(), cause };
        // Links to one table share its lock.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let _lock = lock(&target, PATIENCE).map_err(failed)?;
        match regular::read(&target, TABLE) {
            Ok(text) => Self::parse(&text, path)?.entries.into_values().for_each(|entry| self.merge(entry)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let staged = Staged::new(&target);
        staged.write(self.text().map_err(|error| failed(error.into()))?.as_bytes()).map_err(failed)
    }

    /// Puts an entry in place of the one for the same kernel, device, driver and problem size, and hands that one back.
    pub fn insert(&mut self, entry: TableEntry) -> Option<TableEntry> {
        self.entries.insert(entry.key(), entry)
    }

    /// The entries, sorted by kernel, device, driver and problem size.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &TableEntry> {
        self.entries.values()
    }

    /// The best that is known for a case: see [`Quality`] for what comes before what. Nothing where the kernel isn't known.
    pub fn find(&self, query: &Query<'_>) -> Option<Match<'_>> {
        find::best(self.entries.values(), query)
    }

    /// Takes an entry over unless its own is as late.
    fn merge(&mut self, entry: TableEntry) {
        let key = entry.key();
        if self.entries.get(&key).is_none_or(|own| own.when < entry.when) {
            self.entries.insert(key, entry);
        }
    }

    fn parse(text: &[u8], path: &Path) -> Result<Self, TableError> {
        let form = |cause| TableError::Form { path: path.to_owned(), cause };
        let Versioned { version } = serde_json::from_slice(text).map_err(form)?;
        if version != VERSION {
            return Err(TableError::Version { path: path.to_owned(), found: version });
        }
        let written: Written<Vec<TableEntry>> = serde_json::from_slice(text).map_err(form)?;
        let mut table = Self::default();
        // A case that stands there twice, as by a merge of files by hand, has its later entry.
        written.entries.into_iter().for_each(|entry| table.merge(entry));
        Ok(table)
    }

    fn text(&self) -> Result<String, serde_json::Error> {
        let entries: Vec<&TableEntry> = self.entries.values().collect();
        Ok(serde_json::to_string_pretty(&Written { version: VERSION, entries })? + "\n")
    }
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
    use std::time::SystemTime;

    use crate::model::{AxisValue, DeviceInfo, DriverIdentity, Uuid};

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

    /// Whoever prints an error prints its sources behind it.
    #[test]
    fn an_error_says_once_what_the_system_said() {
        use std::error::Error;
        let error = Table::load(Path::new("no/such.json")).unwrap_err();
        assert!(error.to_string().contains("No such file") || cfg!(windows));
        assert!(error.source().is_none());
    }

    fn size(n: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("n".to_owned(), n)])
    }

    fn entry(n: u64, local_size_x: u64, seconds: u64) -> TableEntry {
        TableEntry {
            kernel: KernelId { name: "blur.comp".into(), hash: "v1".into() },
            device: DeviceId { name: "one".into(), vendor_id: 1, device_id: 10, uuid: Uuid([1; 16]) },
            driver: DriverId { id: "MESA_RADV".into(), name: "radv".into(), info: "Mesa 24".into() },
            size: size(n),
            configuration: BTreeMap::from([
                ("local_size_x".to_owned(), local_size_x.into()),
                ("layout".to_owned(), "row".into()),
            ]),
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

    /// What a table finds for the device and driver of `entry`: how well it fits, and its workgroup size.
    fn found(table: &Table, like: &TableEntry, kernel: &str, n: u64) -> Option<(Quality, AxisValue)> {
        let query = Query { kernel, device: &like.device, driver: &like.driver, size: &size(n) };
        table.find(&query).map(|found| (found.quality, found.configuration["local_size_x"].clone()))
    }

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let mut written = table([entry(64, 8, 1), entry(1 << 40, 16, 2)]);
        written.save(&path).unwrap();
        let read = Table::load(&path).unwrap();
        assert_eq!(read, written);
        let text = fs::read_to_string(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["version"], 1);
        assert_eq!(
            json["entries"][0],
            serde_json::json!({
                "kernel": {"name": "blur.comp", "hash": "v1"},
                "device": {"name": "one", "vendor_id": 1, "device_id": 10, "uuid": "01010101-0101-0101-0101-010101010101"},
                "driver": {"id": "MESA_RADV", "name": "radv", "info": "Mesa 24"},
                "size": {"n": 64},
                "configuration": {"layout": "row", "local_size_x": 8},
                "time_ns": 1000.0 / 3.0,
                "ci_low_ns": 300.0,
                "ci_high_ns": 400.0,
                "when": "1970-01-01T00:00:01Z",
                "tool_version": "v0.1.0",
            })
        );
        // Nothing else of it lies there, and saving it again changes nothing.
        written.save(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["table.json", "table.json.lock"]);
    }

    #[test]
    fn an_entry_replaces_the_one_for_its_case() {
        let mut table = table([entry(64, 8, 1), entry(65, 8, 1)]);
        let mut renamed = entry(64, 16, 0);
        renamed.device.name = "one (new name)".into();
        assert_eq!(table.insert(renamed), Some(entry(64, 8, 1)));
        let others: [fn(&mut TableEntry); 5] = [
            |other| other.kernel.hash = "v2".into(),
            |other| other.driver.info = "Mesa 25".into(),
            |other| other.device.uuid = Uuid([2; 16]),
            |other| other.device.device_id = 11,
            |other| other.size = BTreeMap::from([("m".to_owned(), 64)]),
        ];
        for change in others {
            let mut other = entry(64, 8, 1);
            change(&mut other);
            assert_eq!(table.insert(other), None);
        }
        assert_eq!(table.entries().len(), 2 + others.len());
    }

    #[test]
    fn what_others_save_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let (mut one, mut other) = (table([entry(1, 8, 5)]), table([entry(1, 16, 6), entry(2, 16, 6)]));
        one.save(&path).unwrap();
        other.save(&path).unwrap();
        // The later entry stays, whoever saves last.
        one.insert(entry(3, 8, 7));
        one.save(&path).unwrap();
        let expected = table([entry(1, 16, 6), entry(2, 16, 6), entry(3, 8, 7)]);
        assert_eq!((Table::load(&path).unwrap(), one), (expected.clone(), expected));
    }

    #[test]
    fn who_saves_at_the_same_time_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = &path;
                scope.spawn(move || (0..8).for_each(|i| table([entry(8 * thread + i, 8, 1)]).save(path).unwrap()));
            }
        });
        let sizes: Vec<u64> = Table::load(&path).unwrap().entries().map(|entry| entry.size["n"]).collect();
        assert_eq!(sizes, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn the_best_fit_comes_first() {
        let like = entry(0, 0, 0);
        let mut same_device = entry(1000, 3, 0);
        same_device.driver.info = "Mesa 25".into();
        let mut part = entry(1000, 4, 9);
        part.device.name = "one, an eighth of it".into();
        part.device.uuid = Uuid([9; 16]);
        let mut same_vendor = entry(1000, 5, 0);
        same_vendor.device.device_id = 11;
        let mut fallback = entry(1000, 6, 0);
        fallback.device.vendor_id = 2;
        let mut all = vec![fallback, same_vendor, same_device, entry(10, 2, 0), entry(1000, 1, 0)];
        let at = |all: &[TableEntry]| found(&table(all.to_vec()), &like, "v1", 1000);
        let mut expected = vec![
            (Quality::Fallback, 6_u64),
            (Quality::SameVendor, 5),
            (Quality::SameDevice, 3),
            (Quality::NearestSize, 2),
            (Quality::Exact, 1),
        ];
        assert!(expected.is_sorted_by(|a, b| a.0 > b.0));
        while let Some((quality, local_size)) = expected.pop() {
            assert_eq!(at(&all), Some((quality, local_size.into())));
            all.pop();
        }
        assert_eq!(at(&all), None);
        assert_eq!(at(&[part]), Some((Quality::SameDevice, 4_u64.into())));
    }

    #[test]
    fn the_nearest_size_is_near_by_its_magnitude() {
        let all = table([entry(100, 1, 0), entry(10_000, 2, 0), entry(0, 3, 0)]);
        let nearest = |n| found(&all, &entry(0, 0, 0), "v1", n).unwrap();
        assert_eq!(nearest(900), (Quality::NearestSize, 1_u64.into()));
        assert_eq!(nearest(1100), (Quality::NearestSize, 2_u64.into()));
        assert_eq!(nearest(u64::MAX), (Quality::NearestSize, 2_u64.into()));
        assert_eq!(nearest(5), (Quality::NearestSize, 3_u64.into()));
        assert_eq!(nearest(0), (Quality::Exact, 3_u64.into()));
        // In two dimensions, 2 and 2 apart is nearer than 1 and 8.
        let planar = |width, height, local_size| {
            let size = BTreeMap::from([("width".to_owned(), width), ("height".to_owned(), height)]);
            TableEntry { size, ..entry(0, local_size, 0) }
        };
        let all = table([planar(64, 8 * 64, 1), planar(32, 128, 2), entry(64, 3, 0)]);
        let like = planar(64, 64, 0);
        let query = Query { kernel: "v1", device: &like.device, driver: &like.driver, size: &like.size };
        assert_eq!(all.find(&query).unwrap().configuration["local_size_x"], 2_u64.into());
        // What has other dimensions is better than nothing.
        let line = table([entry(64, 3, 0)]);
        assert_eq!(line.find(&query).unwrap().quality, Quality::NearestSize);
    }

    #[test]
    fn ties_end_the_same_way_each_time() {
        let with_uuid = |uuid, local_size, seconds| {
            let mut entry = entry(64, local_size, seconds);
            entry.device.uuid = Uuid([uuid; 16]);
            entry
        };
        let like = entry(64, 0, 0);
        // The very device, though others of its model have later entries.
        let all = table([with_uuid(0, 1, 9), with_uuid(1, 2, 3), with_uuid(2, 3, 9)]);
        assert_eq!(found(&all, &like, "v1", 64), Some((Quality::Exact, 2_u64.into())));
        // The latest of others, then the first of the table.
        let all = table([with_uuid(3, 1, 8), with_uuid(4, 2, 9), with_uuid(5, 3, 9)]);
        assert_eq!(found(&all, &like, "v1", 64), Some((Quality::Exact, 2_u64.into())));
        let all = table([entry(32, 1, 9), entry(128, 2, 9)]);
        assert_eq!(found(&all, &like, "v1", 64), Some((Quality::NearestSize, 1_u64.into())));
    }

    #[test]
    fn a_kernel_goes_by_its_hash_or_its_name() {
        let mut new = entry(64, 2, 1);
        new.kernel.hash = "v2".into();
        let all = table([entry(64, 1, 0), new]);
        let at = |kernel| found(&all, &entry(0, 0, 0), kernel, 64).map(|(_, local_size)| local_size);
        assert_eq!(
            [at("v1"), at("v2"), at("blur.comp"), at("v3")],
            [Some(1_u64), Some(2), Some(2), None].map(|n| n.map(AxisValue::from))
        );
    }

    #[test]
    fn what_is_no_table_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let missing = Table::load(&path).unwrap_err().to_string();
        assert!(missing.starts_with("can't read") && missing.contains("table.json"), "{missing}");
        for (text, expected) in [
            ("", "is no tuning table: EOF"),
            ("{\"version\": 1, \"entries\": [", "is no tuning table: EOF"),
            ("{\"entries\": []}", "missing field `version`"),
            ("{\"version\": 1, \"entries\": [], \"more\": 1}", "unknown field `more`"),
            ("{\"version\": 1, \"entries\": [{}]}", "missing field `kernel`"),
            ("{\"version\": 2, \"anything\": 1}", "of version 2, and this program knows version 1"),
        ] {
            fs::write(&path, text).unwrap();
            for error in [Table::load(&path).unwrap_err(), table([entry(1, 1, 1)]).save(&path).unwrap_err()] {
                assert!(error.to_string().contains(expected), "{error}");
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_can_not_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        let endless = TableEntry { time_ns: f64::INFINITY, ..entry(1, 1, 1) };
        assert!(table([endless]).save(&path).unwrap_err().to_string().contains("no finite number"));
        let early = TableEntry { when: SystemTime::UNIX_EPOCH - Duration::from_secs(1), ..entry(1, 1, 1) };
        assert!(table([early]).save(&path).unwrap_err().to_string().contains("before 1970"));
        assert!(!path.exists());
        let nowhere = folder.path().join("no/table.json");
        assert!(table([]).save(&nowhere).unwrap_err().to_string().starts_with("can't write"));
    }

    #[test]
    fn devices_and_drivers_are_what_they_say() {
        let info = DeviceInfo { vendor_id: 0x10de, device_id: 3, device_uuid: Uuid([5; 16]), ..DeviceInfo::mock() };
        let device = DeviceId { name: "mock".into(), vendor_id: 0x10de, device_id: 3, uuid: Uuid([5; 16]) };
        assert_eq!(DeviceId::from(&info), device);
        let driver = DriverId { id: "MOCK".into(), name: "mock".into(), info: "proves plumbing only".into() };
        assert_eq!(DriverId::from(&DriverIdentity { version: "2".into(), ..info.driver }), driver);
    }
}
