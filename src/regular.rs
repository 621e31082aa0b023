//! Files that others may have put in place: read, written and locked only once it is known what they are.
//!
//! A path of the user's, or one beside it, can lead to anything: to a pipe that nobody writes to, to a device that never ends, to a file
//! larger than the memory, by a link to somebody else's file. So all such files are opened here. Nothing waits for a pipe's other end;
//! only regular files are read, and streams where that makes sense; and each kind of file has a size that it can't have.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;

use crate::model::Shown;
use crate::platform::{self, FileKind};
use crate::units::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What errors call one: `a manifest`.
    pub what: &'static str,
    pub largest: u64,
    /// Whether it may come by a stream, such as `/dev/stdin` or `<(command)`: it is read once, and by this process alone.
    pub may_stream: bool,
}

/// A shader, or a part of one. Several times the largest modules.
pub const SHADER: Kind = Kind { what: "a shader", largest: 32 << 20, may_stream: false };
/// Rows, which are read one by one: they may be as many as they like.
pub const ROWS: Kind = Kind { what: "a file of rows", largest: u64::MAX, may_stream: true };
pub const MANIFEST: Kind = Kind { what: "a manifest", largest: 1 << 20, may_stream: true };
/// A list of cases, which may be rows.
pub const CASES: Kind = Kind { what: "a list of cases", largest: 256 << 20, may_stream: true };
pub const LIMITS: Kind = Kind { what: "a file of limits", largest: 1 << 20, may_stream: true };
pub const TABLE: Kind = Kind { what: "a tuning table", largest: lanescope_table::LARGEST, may_stream: false };
/// What a buffer or an image holds.
pub const DATA: Kind = Kind { what: "data", largest: 4 << 30, may_stream: false };

/// Errors: for what is no regular file, or larger than it can be, that it is.
pub fn open(path: &Path, kind: Kind) -> io::Result<File> {
    // Before it is opened: with some devices that has effects.
    allowed_to_read(path, platform::kind_at(path)?, kind)?;
    let file = platform::without_waiting(OpenOptions::new().read(true)).open(path)?;
    let found = platform::kind_of(&file, path)?;
    allowed_to_read(path, found, kind)?;
    if found == FileKind::Regular {
        let bytes = file.metadata()?.len();
        if bytes > kind.largest {
            return Err(too_large(bytes, kind));
        }
    }
    platform::after_opening(&file)?;
    Ok(file)
}

fn allowed_to_read(path: &Path, found: FileKind, kind: Kind) -> io::Result<()> {
    let is_given = kind.may_stream && platform::is_own_stream(path);
    match found {
        FileKind::Regular | FileKind::Null => Ok(()),
        FileKind::Pipe | FileKind::Socket | FileKind::Device if is_given => Ok(()),
        FileKind::Pipe if kind.may_stream => Err(refused("it is a pipe: pass it as standard input, `/dev/stdin`")),
        FileKind::Pipe => Err(refused(&format!("it is a pipe, and {} is read more than once: save it as a file", kind.what))),
        FileKind::Folder => Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder")),
        FileKind::Socket => Err(refused("it is a socket")),
        FileKind::Device | FileKind::Disk => Err(refused(&format!("it is a device, and not {}", kind.what))),
        FileKind::Link => Err(refused("it is a link")),
    }
}

fn refused(words: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, words.to_owned())
}

fn too_large(bytes: u64, kind: Kind) -> io::Error {
    let Kind { what, largest, .. } = kind;
    let words = format!("it has {}: {what} has {} at most", Bytes(bytes), Bytes(largest));
    io::Error::new(ErrorKind::FileTooLarge, words)
}

pub fn read(path: &Path, kind: Kind) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (open(path, kind)?, Vec::new());
    // A stream tells no size, and a file may grow.
    (&mut file).take(kind.largest).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == kind.largest && file.read(&mut [0])? > 0 {
        let Kind { what, largest, .. } = kind;
        let words = format!("it has more than {}, which is the most that {what} has", Bytes(largest));
        return Err(io::Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// Whether something bears a name that is no folder: where a word may name a file, it does. Whether that can be read is told by [`open`].
pub fn is_named(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir())
}

/// Errors: as [`open`], and where it is no UTF-8.
pub fn read_text(path: &Path, kind: Kind) -> io::Result<String> {
    let no_text = |_| io::Error::new(ErrorKind::InvalidData, "it is no text: its bytes aren't UTF-8");
    String::from_utf8(read(path, kind)?).map_err(no_text)
}

/// Opens a file of this program's own, which lies beside one of the user's or in a folder that others may write to, to read and write; it
/// is made where it isn't there, and tells so. No link is followed: somebody may have put it there. Nor is a file taken that another user
/// owns, who could change it later, unless the folder is that user's. One that has other names as well is parted from them: what they
/// name stays as it is.
/// Errors: for what is no regular file that it is, or that it is another user's.
pub fn own(path: &Path) -> io::Result<(File, bool)> {
    let (file, is_new) = found_or_made(path)?;
    let metadata = file.metadata()?;
    if is_new {
        return Ok((file, true));
    }
    refuse_anothers(path, &metadata)?;
    let file = if platform::has_other_names(&metadata) { parted(path, file)? } else { file };
    Ok((file, false))
}

/// Opens a file once more that [`own`] has opened or made.
pub fn own_again(path: &Path) -> io::Result<File> {
    let file = open_own(path, platform::without_following(OpenOptions::new().read(true).write(true)))?;
    refuse_anothers(path, &file.metadata()?)?;
    Ok(file)
}

/// Whether a file is another user's. Whoever owns its folder can put in place what they like.
fn is_anothers(path: &Path, file: &Metadata) -> io::Result<bool> {
    let folder = || std::fs::metadata(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    Ok(platform::is_by_another(file) && !platform::have_one_owner(file, &folder()?))
}

fn refuse_anothers(path: &Path, file: &Metadata) -> io::Result<()> {
    match is_anothers(path, file)? {
        true => Err(refused("it is another user's, who may have put it there: remove it")),
        false => Ok(()),
    }
}

/// A copy of a file, which takes its name; its other names keep the file.
fn parted(path: &Path, mut file: File) -> io::Result<File> {
    let permissions = file.metadata()?.permissions();
    std::fs::remove_file(path)?;
    let mut copy = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    copy.set_permissions(permissions)?;
    io::copy(&mut file, &mut copy)?;
    copy.rewind()?;
    Ok(copy)
}

fn found_or_made(path: &Path) -> io::Result<(File, bool)> {
    let options = || platform::without_following(OpenOptions::new().read(true).write(true)).clone();
    match options().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok((open_own(path, &options())?, false)),
        made => Ok((made?, true)),
    }
}

/// A file that users share to lock something, whoever made it: what it holds is never read nor changed.
pub fn shared_lock(path: &Path) -> io::Result<(File, bool)> {
    let denied = match found_or_made(path) {
        // Another user's can be read, which is enough.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => error,
        opened => return opened,
    };
    open_own(path, platform::without_following(OpenOptions::new().read(true))).map(|file| (file, false)).map_err(|_| denied)
}

/// Opens what is there, if it is a regular file. It is looked at before as well: opening a device has effects.
fn open_own(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check_own(&std::fs::symlink_metadata(path)?)?;
    let file = options.open(path)?;
    check_own(&file.metadata()?)?;
    platform::after_opening(&file)?;
    Ok(file)
}

/// Writes a file of this program's own over. Where it is another user's, has other names, or may not be written to, a new one takes its
/// place, and they keep what they hold. Where there is no room for all of it, the file goes.
/// Errors: for what is no regular file that it is, or that it can't be replaced.
pub fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_alone = |file: &File| {
        let metadata = file.metadata()?;
        Ok::<_, io::Error>(!platform::has_other_names(&metadata) && !is_anothers(path, &metadata)?)
    };
    let mut file = match found_or_made(path) {
        Ok((file, is_new)) if is_new || is_alone(&file)? => file,
        Err(error) if error.kind() != ErrorKind::PermissionDenied || !is_named(path) => return Err(error),
        _ => {
            check_own(&std::fs::symlink_metadata(path)?)?;
            let kept = |error| refused(&format!("{} can't be replaced: {error}", path.shown()));
            std::fs::remove_file(path).map_err(kept)?;
            File::create_new(path)?
        }
    };
    file.set_len(0)?;
    let written = file.write_all(bytes);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

fn check_own(metadata: &Metadata) -> io::Result<()> {
    match platform::kind(metadata) {
        FileKind::Regular => Ok(()),
        _ => Err(refused("it is no regular file, and somebody else may have put it there: remove it")),
    }
}

/// A folder to write into, which is made where it isn't there, and so are those around it.
pub fn folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => io::Error::new(ErrorKind::NotADirectory, "something that is no folder has this name"),
        _ => error,
    })
}

/// Opens a file of the user's to write, and to read where it is regular; it is made where it isn't there, and tells so. A pipe must have a
/// reader, and a disk isn't written to.
pub fn output(path: &Path) -> io::Result<(File, bool)> {
    if let Some(stream) = platform::own_output(path) {
        return Ok((stream?, false));
    }
    let writing = || platform::without_waiting(OpenOptions::new().write(true)).clone();
    let kind = || platform::kind_at(path).ok();
    if kind().is_none() {
        match writing().read(true).create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return Ok((made?, true)),
        }
    }
    let found = kind();
    match found {
        Some(FileKind::Disk) => return Err(refused("it is a disk: name a file")),
        Some(FileKind::Socket) => return Err(refused("it is a socket: name a file")),
        _ => {}
    }
    // Created nevertheless where a link leads nowhere yet. What is read is only what was written, and only to save it.
    let mut options = writing();
    options.create(matches!(found, None | Some(FileKind::Regular))).truncate(false);
    let opened = options.clone().read(matches!(found, Some(FileKind::Regular))).open(path).or_else(|_| options.open(path));
    let file = opened.map_err(|error| match found {
        Some(FileKind::Pipe) if error.raw_os_error().is_some() => {
            refused("it is a pipe that nobody reads: start its reader first")
        }
        _ => error,
    })?;
    platform::after_opening(&file)?;
    Ok((file, false))
}

// ---- whether something can be written, before it is -----------------------------------------------------------------------

/// Errors: why [`output`] would fail, as far as that shows. Nothing is made or changed, and no pipe's reader sees a writer come and go.
pub fn check_output(path: &Path) -> io::Result<()> {
    match platform::kind_at(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => check_new(path),
        Err(error) => Err(error),
        Ok(FileKind::Pipe) => Ok(()),
        Ok(FileKind::Disk | FileKind::Socket) => output(path).map(drop),
        Ok(_) => platform::check_room(platform::without_waiting(OpenOptions::new().write(true)).open(path)?),
    }
}

/// The same of a file that another one takes the place of once it is whole, which has this name until then.
pub fn check_replaced(path: &Path, temporary: &Path) -> io::Result<()> {
    match platform::kind_at(path) {
        Ok(FileKind::Folder) => return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder")),
        Ok(FileKind::Regular) | Err(_) => {}
        Ok(_) => return check_output(path),
    }
    match std::fs::symlink_metadata(temporary) {
        Ok(there) => check_own(&there),
        Err(_) => check_new(temporary),
    }
}

/// The same of a folder, which is made where it isn't there.
pub fn check_made_folder(path: &Path) -> io::Result<()> {
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || std::fs::symlink_metadata(folder).is_ok();
    let there = path.ancestors().find(is_there);
    match there.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(there) if !there.is_dir() => folder(path),
        there => platform::check_folder(there.unwrap_or(Path::new("."))),
    }
}

/// Whether a file can be made in the folder where it is to be, or where the link leads that has its name.
fn check_new(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match std::fs::read_link(path) {
        Ok(target) => check_output(&folder.join(target)),
        Err(_) if !folder.exists() => Err(io::Error::new(ErrorKind::NotFound, "its folder isn't there")),
        Err(_) if !folder.is_dir() => Err(io::Error::new(ErrorKind::NotADirectory, "its folder is a file")),
        Err(_) => platform::check_folder(folder),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    }

    /// What somebody may have put where a file of this program's own is to be.
    fn traps(folder: &Path) -> [std::path::PathBuf; 4] {
        let [pipe_, link, nowhere, inner] = ["pipe", "link", "nowhere", "folder"].map(|name| folder.join(name));
        pipe(&pipe_);
        fs::write(folder.join("victim"), "victim").unwrap();
        symlink(folder.join("victim"), &link).unwrap();
        symlink(folder.join("made"), &nowhere).unwrap();
        fs::create_dir(&inner).unwrap();
        [pipe_, link, nowhere, inner]
    }

    #[test]
    fn no_trap_is_stepped_into() {
        let folder = tempfile::tempdir().unwrap();
        for trap in traps(folder.path()) {
            let refused = [own(&trap).map(drop), shared_lock(&trap).map(drop), overwrite(&trap, b"new")];
            for refused in refused {
                assert!(refused.unwrap_err().to_string().contains("no regular file"), "{}", trap.display());
            }
        }
        assert_eq!(fs::read_to_string(folder.path().join("victim")).unwrap(), "victim");
        assert!(!folder.path().join("made").exists());
    }

    #[test]
    fn what_has_another_name_keeps_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, trap] = ["victim", "rows.csv.part"].map(|name| folder.path().join(name));
        fs::write(&victim, "victim").unwrap();
        fs::hard_link(&victim, &trap).unwrap();
        let (mut file, _) = own(&trap).unwrap();
        let mut held = String::new();
        file.read_to_string(&mut held).unwrap();
        assert_eq!(held, "victim", "a journal is gone on from");
        file.write_all(b" and more").unwrap();
        let texts = || [&victim, &trap].map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(texts(), ["victim", "victim and more"]);
        fs::remove_file(&trap).unwrap();
        fs::hard_link(&victim, &trap).unwrap();
        overwrite(&trap, b"new").unwrap();
        assert_eq!(texts(), ["victim", "new"]);
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o600)).unwrap();
        overwrite(&trap, b"newer").unwrap();
        assert_eq!((texts()[1].as_str(), fs::metadata(&trap).unwrap().permissions().mode() & 0o777), ("newer", 0o600));
    }

    #[test]
    fn a_lock_of_anybodys_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(shared_lock(&path).unwrap().1, "it is made");
        fs::write(&path, "somebody's").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(!shared_lock(&path).unwrap().1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
    }

    #[test]
    fn a_pipe_is_written_to_where_somebody_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        assert!(output(&path).unwrap_err().to_string().contains("nobody reads"));
        let mut reader = platform::without_waiting(OpenOptions::new().read(true)).open(&path).unwrap();
        let (mut writer, is_new) = output(&path).unwrap();
        writer.write_all(b"rows").unwrap();
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!((read.as_str(), is_new), ("rows", false));
    }

    #[test]
    fn what_is_as_large_as_it_may_be_is_read_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let kind = Kind { what: "a word", largest: 4, may_stream: false };
        fs::write(&path, "four").unwrap();
        assert_eq!(read_text(&path, kind).unwrap(), "four");
        fs::write(&path, "fives").unwrap();
        assert_eq!(read_text(&path, kind).unwrap_err().to_string(), "it has 5 B: a word has 4 B at most");
        // The kernel's own files say that they are empty.
        let large = Path::new("/proc/self/status");
        if large.exists() {
            assert!(read(large, kind).unwrap_err().to_string().contains("more than 4 B, which is the most that a word has"));
        }
        fs::write(&path, [0xff]).unwrap();
        assert!(read_text(&path, kind).unwrap_err().to_string().contains("UTF-8"));
    }
}
