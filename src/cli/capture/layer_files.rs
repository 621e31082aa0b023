//! What the layer wrote, as files.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::program::LOG;
use crate::capture::Profile;
use crate::error::Error;
use crate::model::Shown;
use crate::regular::{self, Kind};

/// One that the layer wrote.
pub const MODULE: Kind = Kind { what: "a captured module", largest: 1 << 30, may_stream: false };

/// The layer's files, one for each device of each process.
pub fn files(logs: &Path) -> std::io::Result<Vec<PathBuf>> {
    let all = fs::read_dir(logs)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    let mut files: Vec<PathBuf> = all.into_iter().filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    files.sort();
    Ok(files)
}

pub fn read(files: &[PathBuf], words: impl Fn(&str) -> Option<Vec<u32>>) -> anyhow::Result<Profile> {
    let open = |path: &PathBuf| Ok(BufReader::new(regular::open(path, LOG)?));
    let open: Vec<_> = files.iter().map(open).collect::<std::io::Result<_>>()?;
    let wrong = |(at, why): (usize, std::io::Error)| Error::Usage(format!("{}: {why}", files[at].shown()));
    Ok(Profile::of(open, words).map_err(wrong)?)
}

pub fn module_words(path: &Path) -> Option<Vec<u32>> {
    let bytes = regular::read(path, MODULE).ok()?;
    Some(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

/// Takes the layer's own modules away, which have sources and paths in them, once all is written.
pub fn forget_modules(logs: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(logs)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "spv") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
