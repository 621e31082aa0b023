//! Files that hold whole lines, whatever happens: killed processes, full disks, other programs.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::model::Shown;
use crate::platform::{self, FileKind};
use crate::regular;
use crate::staged::{Staged, followed, is_temporary};

/// Whether two paths lead to one file, there or not yet, also where it has several names. What is no file, such as `/dev/null`, may be
/// written to twice.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let is_special = platform::kind_at(one).is_ok_and(|kind| kind != FileKind::Regular);
    let [there, other_there] = [one, other].map(|path| std::fs::metadata(path).ok());
    let are_one = || there.zip(other_there).is_some_and(|(one, other)| platform::are_one(&one, &other));
    !is_special && (place(one) == place(other) || are_one())
}

/// Where a path leads, there or not yet, without detours.
pub fn place(path: &Path) -> PathBuf {
    let path = followed(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let in_folder = path.file_name().and_then(|name| Some(std::fs::canonicalize(folder).ok()?.join(name)));
    in_folder.unwrap_or(path)
}

/// The file, and whether it was made just now. One that bears a temporary name is this program's own.
pub fn open_file(path: &Path) -> io::Result<(File, bool)> {
    if is_temporary(path) { regular::own(path) } else { regular::output(path) }
}

/// Errors: why it can't be opened so, as far as that shows. Nothing is made or changed.
pub fn check_file(path: &Path) -> io::Result<()> {
    if is_temporary(path) { regular::check_replaced(path, path) } else { regular::check_output(path) }
}

pub static WHOLE: Mutex<()> = Mutex::new(());

pub fn between_rows<T>(act: impl FnOnce() -> T) -> T {
    let _whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    act()
}

/// Keeps rows from being written from now on, once none is half written; but doesn't wait for a pipe that nobody empties.
pub fn stop_writing() {
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        if let Ok(whole) = WHOLE.try_lock() {
            std::mem::forget(whole);
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A file that holds whole lines only: what was written of one that couldn't be written whole, as on a full disk, goes again.
pub struct WholeLines {
    file: File,
    /// Bytes of whole lines; `None` where it is no file that can be cut.
    length: Option<u64>,
    /// Where those begin that hold until something is written for good.
    held_from: Option<u64>,
    /// Those that hold, to be written back where what is to take their place can't be written.
    held: Vec<u8>,
    /// Lines on their way to the file, which takes them all at once.
    gathered: Option<Vec<Vec<u8>>>,
    /// How many bytes it had, and how many it was found to have, once something else had changed it.
    changed: Option<(u64, u64)>,
}

impl WholeLines {
    pub fn new(file: File) -> Self {
        let length = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
        Self { file, length, held_from: None, held: Vec::new(), gathered: None, changed: None }
    }

    /// What is written from now on goes to the file at once, see [`WholeLines::put`].
    pub fn gather(&mut self) {
        self.gathered = Some(Vec::new());
    }

    /// How many lines were gathered.
    pub fn gathered(&self) -> usize {
        self.gathered.as_ref().map_or(0, Vec::len)
    }

    /// Writes what was gathered in the place of the lines that held until now: so many lines for good, the rest to hold in turn.
    /// Errors: where it can't all be written. Then what held until now holds on; where nothing did, lines are there as far as there is
    /// room.
    pub fn put(&mut self, for_good: usize) -> io::Result<()> {
        let lines = self.gathered.take().unwrap_or_default();
        let (above, below) = lines.split_at(for_good.min(lines.len()));
        let (begin, held) = (self.held_from.or(self.length), std::mem::take(&mut self.held));
        self.drop_held()?;
        let (above_length, below) = (above.iter().map(Vec::len).sum::<usize>() as u64, below.concat());
        match self.write_all(&lines.concat()) {
            Ok(()) => {
                self.held_from = begin.map(|begin| begin + above_length).filter(|_| !below.is_empty());
                self.held = below;
                Ok(())
            }
            Err(_) if held.is_empty() => above.iter().try_for_each(|line| self.write_all(line)),
            Err(error) => {
                self.write_all(&held)?;
                (self.held_from, self.held) = (begin, held);
                Err(error)
            }
        }
    }

    /// Takes back what held for now.
    pub fn drop_held(&mut self) -> io::Result<()> {
        self.held_from.take().map_or(Ok(()), |length| self.cut(length))
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length))?;
        self.length = Some(length);
        Ok(())
    }

    pub fn at_end(mut file: File) -> io::Result<Self> {
        if is_regular(&file) {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(Self::new(file))
    }

    /// Keeps the whole lines that it holds, or nothing.
    pub fn keep(&mut self, lines: bool) -> io::Result<()> {
        let Some(length) = self.length else { return Ok(()) };
        let kept = if lines { whole_lines(&mut self.file, length)? } else { 0 };
        self.cut(kept)
    }

    /// Looks whether the file is still where it was, with all that was written. What bears no name any more is saved.
    /// Where it isn't where it was, or was changed, the error says where its rows are.
    pub fn find_again(&mut self, path: &Path) -> io::Result<()> {
        if self.length.is_none() {
            return Ok(());
        }
        self.look();
        if let Some((length, there)) = self.changed {
            let how = format!("it had {length} bytes, and has {there}: something else has changed it; its rows are not whole");
            return Err(io::Error::other(how));
        }
        // Some file systems give one file several numbers.
        if is_at(path, &self.file) || has_same_bytes(path, &mut self.file).unwrap_or(false) {
            return Ok(());
        }
        let copied = copy_beside(&mut self.file, path, ".saved");
        // The folder may be gone as well.
        let copied = copied.or_else(|error| copy_elsewhere(&mut self.file, path, ".saved").map_err(|_| error));
        Err(io::Error::other(match copied {
            Ok(saved) => format!("it was deleted or replaced meanwhile; its rows are in {}", saved.shown()),
            Err(error) => format!("it was deleted or replaced meanwhile, and its rows are lost: {error}"),
        }))
    }

    pub fn can_be_cut(&self) -> bool {
        self.length.is_some()
    }

    /// Looks whether it has what was written, and nothing else.
    pub fn look(&mut self) {
        if let (Some(length), Ok(metadata), None) = (self.length, self.file.metadata(), self.changed) {
            self.changed = (metadata.len() != length).then_some((length, metadata.len()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.length.is_none_or(|length| length == 0)
    }
}

/// The bytes of a file up to its last line end.
fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut piece = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(piece.len() as u64);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Read::by_ref(file).take(end - start);
        piece.clear();
        tail.read_to_end(&mut piece)?;
        if let Some(place) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
        piece.resize(64 << 10, 0);
    }
    Ok(0)
}

impl Write for WholeLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(lines) = &mut self.gathered {
            lines.push(line.to_vec());
            return Ok(line.len());
        }
        // What is cut now and written to later has its length again, with a hole in it.
        self.look();
        let written = self.file.write_all(line);
        if let Some(length) = self.length {
            match &written {
                Ok(()) => self.length = Some(length + line.len() as u64),
                // Where it can't be cut either, the error says enough.
                Err(_) => drop(self.cut(length)),
            }
        }
        written.map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that its writer has, and whoever takes back what was written.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<WholeLines>>);

impl Shared {
    pub fn new(file: WholeLines) -> Self {
        Self(Arc::new(Mutex::new(file)))
    }

    pub fn lock(&self) -> MutexGuard<'_, WholeLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Shared {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lock().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}

/// Devices of Windows have no metadata.
fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Pipes and devices such as `/dev/null` can't be truncated, and needn't be.
pub fn empty(file: &File) -> io::Result<()> {
    if is_regular(file) { file.set_len(0) } else { Ok(()) }
}

/// Whether a file still bears this name.
pub fn is_at(path: &Path, file: &File) -> bool {
    let (named, own) = (std::fs::metadata(path).ok(), file.metadata().ok());
    named.zip(own).is_some_and(|(named, own)| platform::is_same_file(&named, &own))
}

/// Whether what bears this name now holds what an open file does.
fn has_same_bytes(path: &Path, file: &mut File) -> io::Result<bool> {
    let mut named = regular::open(path, regular::ROWS)?;
    if named.metadata()?.len() != file.metadata()?.len() {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(0))?;
    let (mut one, mut other) = (Vec::new(), Vec::new());
    loop {
        one.clear();
        other.clear();
        Read::by_ref(&mut named).take(64 << 10).read_to_end(&mut one)?;
        Read::by_ref(file).take(64 << 10).read_to_end(&mut other)?;
        if one != other || one.is_empty() {
            return Ok(one == other);
        }
    }
}

/// Writes a file, which has its name once it is whole.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    Staged::new(path).write(text.as_bytes()).map_err(Error::unwritable(path))
}

/// Copies a file to a name that nothing bears, beside the one that it has or had, and gives that name. It has the file's permissions.
pub fn copy_beside(file: &mut File, path: &Path, ending: &str) -> io::Result<PathBuf> {
    let permissions = file.metadata()?.permissions();
    copied(file, free_name(path, ending), |copy| copy.set_permissions(permissions))
}

/// The same in the folder for temporary files, for this user alone: what kept others from the file may have been its folder.
fn copy_elsewhere(file: &mut File, path: &Path, ending: &str) -> io::Result<PathBuf> {
    let elsewhere = std::env::temp_dir().join(path.file_name().unwrap_or(path.as_os_str()));
    copied(file, free_name(&elsewhere, ending), |copy| platform::set_mode(copy, 0o600))
}

fn copied(file: &mut File, to: PathBuf, allow: impl FnOnce(&File) -> io::Result<()>) -> io::Result<PathBuf> {
    let mut copy = File::create_new(&to)?;
    allow(&copy)?;
    file.rewind()?;
    io::copy(file, &mut copy)?;
    Ok(to)
}

/// A name beside a file that nothing bears: with this ending, or one that is numbered.
fn free_name(file: &Path, ending: &str) -> PathBuf {
    let named = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        if number > 1 {
            name.push(number.to_string());
        }
        PathBuf::from(name)
    };
    (1..=u32::MAX).map(named).find(|path| std::fs::symlink_metadata(path).is_err()).unwrap_or_else(|| named(1))
}
