//! Windows.

mod job;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use self::job::Job;
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
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
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

/// From now on this process can have so many bytes of memory and no more; fewer, where it could not have so many before. Gives the limit.
///
/// # Errors
/// What the system says.
pub fn limit_memory(bytes: u64) -> io::Result<u64> {
    let asked = usize::try_from(bytes).unwrap_or(usize::MAX);
    // That job holds it as well.
    let limit = job::memory_of_this_job()?.map_or(asked, |around| around.min(asked));
    Job::of_memory(limit)?.take_this_process()?;
    Ok(limit as u64)
}
