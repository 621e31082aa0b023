//! What differs by operating system, in one place: a file for each kind of system, with the same functions.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{after_opening, end_at_once, is_own_stream, kind, limit_memory, without_following, without_waiting};

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
