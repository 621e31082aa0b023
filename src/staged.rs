//! A file under a temporary name until it is whole, so that its own name never stands for half of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::model::Shown;
use crate::platform::{self, FileKind};
use crate::regular;

const ENDING: &str = ".part";

/// Of a file of rows that takes the place of what it was made of.
const COPY: &str = ".copy.part";

/// The names of a file that is being written: its own, and the one that it has until it is whole.
///
/// Nothing happens by itself: whoever writes the file to [`Staged::path`] ends it with [`Staged::finish`] or
/// [`Staged::discard`], or leaves it in place under its temporary name. That name is the same each time, so that what a killed
/// process left is found again, or overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    target: PathBuf,
    temporary: Option<PathBuf>,
}

impl Staged {
    /// The names for a file. A link is followed, to replace what it leads to and not the link. What is no file, such as a pipe or
    /// `/dev/null`, can't be replaced, and has only its own name; nor can what this process writes to already, such as `/dev/stdout`.
    pub fn new(path: &Path) -> Self {
        Self::with_ending(path, ENDING)
    }

    /// The same for a file of rows that is made of what bears its name: beside that may lie a part of a run, which isn't whole yet.
    pub fn copy_of(path: &Path) -> Self {
        Self::with_ending(path, COPY)
    }

    fn with_ending(path: &Path, ending: &str) -> Self {
        let is_own = platform::is_own_stream(path);
        let target = if is_own { path.to_owned() } else { followed(path) };
        let is_replaceable = !is_own && platform::kind_at(&target).map_or(true, |kind| kind == FileKind::Regular);
        let name = target.file_name().filter(|_| is_replaceable);
        let temporary = name.map(|name| target.with_file_name([name, ending.as_ref()].into_iter().collect::<OsString>()));
        Self { target, temporary }
    }

    /// Errors: why it can't be written, as far as that shows before. Nothing is made or changed.
    pub fn check(&self) -> io::Result<()> {
        regular::check_replaced(&self.target, self.path())
    }

    /// Where to write: beside the file, so that renaming moves no bytes.
    pub fn path(&self) -> &Path {
        self.temporary.as_ref().unwrap_or(&self.target)
    }

    /// Writes the whole file, and gives it its own name. Where that fails, what bore it before stays as it was.
    pub fn write(self, bytes: &[u8]) -> io::Result<()> {
        match &self.temporary {
            Some(temporary) => regular::overwrite(temporary, bytes)?,
            // What is no file can't be emptied, and needn't be.
            None => regular::output(&self.target)?.0.write_all(bytes)?,
        }
        self.finish()
    }

    /// Gives the file its own name, once all that was written is on the disk. What bore it before is replaced, its permissions kept. Where
    /// that fails, it stays under its temporary name.
    pub fn finish(self) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        let file = regular::own_again(temporary).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::new(error.kind(), "what was written is gone: somebody has removed it meanwhile")
            }
            _ => error,
        })?;
        file.sync_all()?;
        if let Ok(metadata) = fs::metadata(&self.target) {
            file.set_permissions(metadata.permissions())?;
        }
        drop(file);
        fs::rename(temporary, &self.target)?;
        sync_folder(&self.target);
        Ok(())
    }

    /// Has the file written under its temporary name, and gives it its own. Where that fails, what bore it before stays as it was.
    pub fn fill<T>(self, write: impl FnOnce(&Path) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let written = write(self.path());
        if written.is_err() {
            // What can't be removed bears a name that says what it is.
            let _ = self.discard();
            return written;
        }
        let name = self.target.shown();
        self.finish().with_context(|| format!("can't replace {name}"))?;
        written
    }

    /// Removes what was written; what bore the file's name before stays as it was.
    pub fn discard(self) -> io::Result<()> {
        self.temporary.map_or(Ok(()), fs::remove_file)
    }
}

/// What a path leads to, links followed: also one that leads to nothing yet.
pub fn followed(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), fs::read_link(path)) {
        (Ok(there), _) => there,
        // Not where links lead in a circle.
        (Err(error), Ok(target)) if error.kind() == io::ErrorKind::NotFound => followed(&path.with_file_name(target)),
        _ => path.to_owned(),
    }
}

/// Whether a path is one that [`Staged::path`] gives to a file that isn't whole yet.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))
}

/// The new name lasts once its folder is on the disk. Not every system can open folders; there the name is as safe as it gets.
fn sync_folder(file: &Path) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        for text in ["first", "second"] {
            let staged = Staged::new(&path);
            fs::write(staged.path(), text).unwrap();
            assert!(staged.path().ends_with("rows.csv.part") && names(folder.path()).contains(&"rows.csv.part".to_owned()));
            staged.finish().unwrap();
            assert_eq!(
                (names(folder.path()), fs::read_to_string(&path).unwrap()),
                (vec!["rows.csv".to_owned()], text.to_owned())
            );
        }
    }

    #[test]
    fn what_is_not_whole_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        fs::write(&path, "old").unwrap();
        let staged = || Staged::new(&path);
        assert!(staged().finish().unwrap_err().to_string().contains("somebody has removed it"));
        fs::write(staged().path(), "half").unwrap();
        // Dropped, as by a panic, it is there for whoever resumes.
        assert_eq!(names(folder.path()), ["rows.csv", "rows.csv.part"]);
        staged().discard().unwrap();
        assert_eq!((names(folder.path()), fs::read_to_string(&path).unwrap()), (vec!["rows.csv".to_owned()], "old".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_what_is_replaced_and_devices_are_written_to() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [real, link] = ["real.csv", "link.csv"].map(|name| folder.path().join(name));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&real, &link).unwrap();
        let staged = Staged::new(&link);
        fs::write(staged.path(), "new").unwrap();
        staged.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        let null = Staged::new(Path::new("/dev/null"));
        assert_eq!(null.path(), Path::new("/dev/null"));
        null.finish().unwrap();
    }
}
