#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]

mod entry;
mod file;
mod find;
#[cfg(test)]
mod tests;
mod time;
mod uuid;
mod value;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::entry::Key;
pub use self::entry::{DeviceId, DriverId, KernelId, TableEntry};
pub use self::file::LARGEST;
use self::file::{read, shown};
pub use self::find::{Match, Quality, Query};
pub use self::uuid::Uuid;
pub use self::value::AxisValue;

/// The version of the file's form. Any change of the form raises it, so that no version loses what another one wrote.
const VERSION: u64 = 1;

/// The best configurations that were found: at most one per kernel, device, driver and problem size.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::time::SystemTime;
///
/// use lanescope_table::{AxisValue, DeviceId, DriverId, KernelId, Quality, Query, Table, TableEntry, Uuid};
///
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
/// let table = Table::parse(table.text()?)?;
///
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

/// Why a file can't be read as a table.
#[derive(Debug)]
pub enum TableError {
    /// The system refuses, or it is no regular file, or one larger than [`LARGEST`].
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file holds no table that this version understands.
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: ParseError,
    },
}

/// Why a text is no table.
#[derive(Debug)]
pub enum ParseError {
    /// It is something else, or damaged: what is wrong, with line and column.
    Form(serde_json::Error),
    /// It is a table of this version, which another version of Lanescope wrote.
    Version(u64),
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
    /// Reads a table from a regular file, or what a link to one leads to.
    ///
    /// # Errors
    /// Where there is none, or one that this version doesn't understand.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TableError> {
        let path = path.as_ref();
        let text = read(path).map_err(|cause| TableError::Read { path: path.to_owned(), cause })?;
        Self::parse(text).map_err(|cause| TableError::Form { path: path.to_owned(), cause })
    }

    /// Reads a table from the text of a file, such as one that is built into the program. Of two entries for the same kernel, device,
    /// driver and problem size, as a merge by hand leaves them, it takes the later one.
    ///
    /// # Errors
    /// Where the text is no table, or one that this version doesn't understand.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, ParseError> {
        let text = text.as_ref();
        let Versioned { version } = serde_json::from_slice(text).map_err(ParseError::Form)?;
        if version != VERSION {
            return Err(ParseError::Version(version));
        }
        let written: Written<Vec<TableEntry>> = serde_json::from_slice(text).map_err(ParseError::Form)?;
        let mut table = Self::default();
        written.entries.into_iter().for_each(|entry| table.insert_later(entry));
        Ok(table)
    }

    /// The text of a file that [`Table::parse`] reads back.
    ///
    /// # Errors
    /// Where an entry has a time that is no finite number, or was measured before 1970 or after 9999: the form has none of them.
    pub fn text(&self) -> serde_json::Result<String> {
        let entries: Vec<&TableEntry> = self.entries.values().collect();
        Ok(serde_json::to_string_pretty(&Written { version: VERSION, entries })? + "\n")
    }

    /// Puts an entry in place of the one for the same kernel, device, driver and problem size, and hands that one back.
    pub fn insert(&mut self, entry: TableEntry) -> Option<TableEntry> {
        self.entries.insert(entry.key(), entry)
    }

    /// Takes over another table's entries. Of two for the same kernel, device, driver and problem size, the later one stays.
    pub fn merge(&mut self, other: Self) {
        other.entries.into_values().for_each(|entry| self.insert_later(entry));
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
    fn insert_later(&mut self, entry: TableEntry) {
        let key = entry.key();
        if self.entries.get(&key).is_none_or(|own| own.when < entry.when) {
            self.entries.insert(key, entry);
        }
    }
}

// ---- errors ---------------------------------------------------------------------------------------------------------------

// Messages say what the system or the parser said. They aren't sources as well: who prints those would say it twice.
impl Error for TableError {}
impl Error for ParseError {}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, cause } => write!(f, "can't read {}: {cause}", shown(path)),
            Self::Form { path, cause } => write!(f, "{} is {cause}", shown(path)),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(cause) => write!(f, "no tuning table: {cause}"),
            Self::Version(found) => write!(
                f,
                "a tuning table of version {found}, and this program knows version {VERSION}: use one as new as the table, or start \
                 another table"
            ),
        }
    }
}
