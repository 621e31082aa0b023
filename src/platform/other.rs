//! Systems that aren't Unix: Windows.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use super::FileKind;

/// What something is. Pipes and devices have names of their own there, which no file can bear, and tell no metadata.
pub fn kind(metadata: &Metadata) -> FileKind {
    match () {
        () if metadata.is_file() => FileKind::Regular,
        () if metadata.is_dir() => FileKind::Folder,
        () if metadata.is_symlink() => FileKind::Link,
        () => FileKind::Device,
    }
}

/// Opening waits for nobody there.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A link is opened itself, and not what it leads to.
#[cfg(windows)]
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, FILE_FLAG_OPEN_REPARSE_POINT)
}

/// As above, where nothing is known of links.
#[cfg(not(windows))]
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// There is nothing to take back.
///
/// # Errors
/// None.
pub fn after_opening(_file: &File) -> io::Result<()> {
    Ok(())
}

/// No path names a stream there.
pub fn is_own_stream(_path: &Path) -> bool {
    false
}

/// Ends this process without giving a driver or another library a chance to interfere.
pub fn end_at_once() -> ! {
    std::process::abort()
}

/// Nothing: a job object would do it there. Gives the limit that is asked for.
///
/// # Errors
/// None.
pub fn limit_memory(bytes: u64) -> io::Result<u64> {
    Ok(bytes)
}
