//! Files as an application reads them.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The largest file that [`Table::load`](crate::Table::load) reads, in bytes: hundreds of thousands of entries.
pub const LARGEST: u64 = 256 << 20;

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Before it is opened: a pipe would wait for somebody to write to it.
    refuse_others(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    refuse_others(&file.metadata()?)?;
    let mut text = Vec::new();
    // It may grow meanwhile, and the system's own files tell no size.
    file.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST { Err(too_large()) } else { Ok(text) }
}

fn refuse_others(file: &Metadata) -> io::Result<()> {
    match file.is_file() {
        true if file.len() > LARGEST => Err(too_large()),
        true => Ok(()),
        false if file.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder")),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

fn too_large() -> io::Error {
    let words = format!("it has more than {} MiB, which is the most that a tuning table has", LARGEST >> 20);
    io::Error::new(ErrorKind::FileTooLarge, words)
}

/// A path in one line: with a line's end in it, a message would look like two.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    text.chars().flat_map(|c| if c.is_control() { c.escape_unicode().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;
    use crate::Table;

    fn said(path: &Path) -> String {
        Table::load(path).unwrap_err().to_string()
    }

    #[test]
    fn a_table_is_read_from_a_file_or_a_link_to_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        fs::write(&path, Table::default().text().unwrap()).unwrap();
        assert_eq!(Table::load(&path).unwrap(), Table::default());
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert_eq!(Table::load(&link).unwrap(), Table::default());
        }
    }

    /// Whoever prints an error prints its sources behind it.
    #[test]
    fn an_error_says_once_what_the_system_said() {
        let error = Table::load("no/such.json").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("can't read") && text.contains("such.json: "), "{text}");
        assert!(text.contains("No such file") || cfg!(windows));
        assert!(error.source().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn an_error_is_one_line_whatever_the_file_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a\nb.json");
        fs::write(&path, "{").unwrap();
        assert!(said(&path).contains(r"a\u{a}b.json is no tuning table: EOF"), "{}", said(&path));
    }

    #[test]
    fn only_files_are_read_and_none_larger_than_a_table_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.json");
        File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(
            said(&path).ends_with("it has more than 256 MiB, which is the most that a tuning table has"),
            "{}",
            said(&path)
        );
        #[cfg(unix)]
        {
            // A pipe, without waiting for its other end.
            let pipe = folder.path().join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            for (path, expected) in [
                (folder.path(), "it is a folder"),
                (&pipe, "it is no regular file"),
                (Path::new("/dev/zero"), "it is no regular file"),
            ] {
                assert!(said(path).ends_with(expected), "{}", said(path));
            }
        }
    }
}
