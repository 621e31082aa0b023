//! Unix: Linux, macOS, the BSDs.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, stat};

use super::FileKind;

/// What something is.
pub fn kind(metadata: &Metadata) -> FileKind {
    let kind = metadata.file_type();
    let is_null = || stat("/dev/null").is_ok_and(|null| u128::from(null.st_rdev) == u128::from(metadata.rdev()));
    match () {
        () if kind.is_file() => FileKind::Regular,
        () if kind.is_dir() => FileKind::Folder,
        () if kind.is_fifo() => FileKind::Pipe,
        () if kind.is_socket() => FileKind::Socket,
        () if kind.is_char_device() && is_null() => FileKind::Null,
        () if kind.is_char_device() => FileKind::Device,
        () if kind.is_block_device() => FileKind::Disk,
        () => FileKind::Link,
    }
}

/// Opening waits for nobody at a pipe's other end, and takes no terminal over.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY))
}

/// As [`without_waiting`]; and it is an error where the last part of a path is a link.
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW))
}

fn flags(flags: OFlags) -> i32 {
    i32::from_ne_bytes(flags.bits().to_ne_bytes())
}

/// Reading and writing wait as usual, once a file is open that was opened without waiting.
///
/// # Errors
/// What the system says.
pub fn after_opening(file: &File) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags - OFlags::NONBLOCK)?)
}

/// Whether a path names a stream that this process was given, such as `/dev/stdin` or a shell's `<(command)`.
pub fn is_own_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

/// Ends this process without giving a driver or another library a chance to interfere.
pub fn end_at_once() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

/// From now on this process can have so many bytes of memory and no more, where the system holds processes to that; fewer, where it could
/// not have so many before. Gives the limit.
///
/// # Errors
/// What the system says.
pub fn limit_memory(bytes: u64) -> io::Result<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::As).maximum;
    let current = maximum.map_or(bytes, |maximum| maximum.min(bytes));
    setrlimit(Resource::As, Rlimit { current: Some(current), maximum })?;
    Ok(current)
}
