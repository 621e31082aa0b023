//! What differs by operating system, in one place: a file for each kind of system, with the same functions.

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
    after_opening, is_own_stream, is_same_file, kind, kind_at, kind_of, let_others_read, without_following, without_waiting,
};
// The terminal, or the console.
pub use system::{columns, is_stdout_closed};
// Processes.
pub use system::{
    crash_quietly, end_at_once, end_with_this, keep_interrupts_from, limit_memory, outlive_full_files, this_program,
};

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A pipe, with a name or without.
    Pipe,
    /// A socket.
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
