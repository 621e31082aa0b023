//! What differs by operating system, in one place: a file for each kind of system, with the same functions.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

// Files.
pub use system::{
    after_opening, are_one, can_write, check_folder, check_room, has_other_names, have_one_owner, is_by_another, is_own_stream,
    is_same_file, kind, kind_at, kind_of, own_output, set_mode, shared_folder, without_following, without_waiting,
};
// The terminal, or the console.
pub use system::{columns, is_stdout_closed, shell_word};
// The processor.
pub use system::processor_time;
// Processes.
pub use system::{
    crash_quietly, end_at_once, end_children_with_this, keep_interrupts_from, kin_of, limit_memory, mapped_libraries,
    outlive_full_files, sees_all_processes, this_program,
};
// A program that runs in this one's place.
pub use system::{ask_to_end, exit_code, has_mapped, pass_signals_to};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    pub ran: Duration,
    /// It could have run, but another one did.
    pub waited: Duration,
}

/// What this process had of the processors, as closely as the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnTime {
    /// Each thread's, by its id.
    Threads(BTreeMap<u64, ThreadTime>),
    /// That of all threads together; how long they waited isn't told.
    Process(Duration),
}

/// A library that this process has mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedLibrary {
    pub path: PathBuf,
    pub addresses: Range<usize>,
}

/// What this process and everybody had of the processors so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    pub own: OwnTime,
    /// What all processors of the system were busy, whoever with; stolen time of a virtual machine counts. In steps of 10 to 16 ms.
    pub busy: Duration,
    /// What they were idle, added up; in the same steps.
    pub idle: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Regular,
    Folder,
    /// A pipe, with a name or without.
    Pipe,
    Socket,
    /// The device that holds nothing and takes everything, such as `/dev/null`.
    Null,
    /// A device that is read or written byte by byte, such as a terminal.
    Device,
    /// A device with blocks, such as a disk.
    Disk,
    /// A link, where links aren't followed.
    Link,
}

/// The time, or the nearest that rows and tables can hold: a clock that was never set tells one before 1970.
#[expect(clippy::disallowed_methods, reason = "here it is asked for all others")]
pub fn now() -> SystemTime {
    SystemTime::now().max(UNIX_EPOCH)
}

/// What a process is to this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kin {
    /// This one, or another process of this program that the same one has started.
    ThisRun,
    /// Another, by the name of its program.
    Other(String),
    Gone,
}
