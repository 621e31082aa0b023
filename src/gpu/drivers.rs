//! Which drivers the loader finds, and what is wrong with those that it can't use: it doesn't say so itself.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use super::error::Error;
use crate::model::{Shown, Status};
use crate::regular::{self, Kind};

/// Variables that name the loader's drivers, in the order in which it looks at them.
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// A driver's manifest. They have some hundred bytes; the loader reads them as well.
const MANIFEST: Kind = Kind { what: "a driver's manifest", largest: 1 << 20, may_stream: false };

/// A driver's library, of which only the beginning is read.
const LIBRARY: Kind = Kind { what: "a driver's library", largest: u64::MAX, may_stream: false };

const MOST_TOLD: usize = 3;

/// How libraries begin: ELF, the two of macOS, and Windows'.
const LIBRARIES: [&[u8]; 4] = [b"\x7FELF", b"\xCF\xFA\xED\xFE", b"\xCA\xFE\xBA\xBE", b"MZ"];

/// The manifests of all drivers, as the loader finds them: those that a variable names, else those in the system's folders (see
/// `LoaderDriverInterface.md` of the Vulkan loader). Elsewhere than on Unix they are in a registry, and none is found here.
pub fn driver_manifests() -> Vec<PathBuf> {
    if let Some((_, files)) = named() {
        return files;
    }
    let home = env::var_os("HOME").map(PathBuf::from);
    let of = |name: &str, default: &str| -> Vec<PathBuf> {
        let value = env::var_os(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.into());
        env::split_paths(&value).collect()
    };
    let own = |folder: &str| home.iter().map(|home| home.join(folder)).collect::<Vec<_>>();
    let folders = [
        own(".config"),
        of("XDG_CONFIG_DIRS", "/etc/xdg"),
        vec!["/etc".into()],
        own(".local/share"),
        of("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
    ];
    let mut files: Vec<PathBuf> = folders.concat().iter().flat_map(|folder| in_folder(&folder.join("vulkan/icd.d"))).collect();
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    files
}

/// The variable that names drivers, if one does, and the manifests that it names.
fn named() -> Option<(&'static str, Vec<PathBuf>)> {
    let value = |name: &&str| env::var_os(name).filter(|value| !value.is_empty());
    let (name, value) = VARIABLES.iter().find_map(|name| Some((*name, value(name)?)))?;
    let files = |path: PathBuf| if path.is_dir() { in_folder(&path) } else { vec![path] };
    Some((name, env::split_paths(&value).flat_map(files).collect()))
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// Demands that the loader can read all manifests to their ends: it would wait for a pipe for ever, and take a device's or a huge file's
/// bytes for as long as there is memory.
pub(super) fn check() -> Result<(), Error> {
    // What isn't there or may not be read, the loader passes over.
    let is_passed_over = |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
    for path in driver_manifests() {
        if let Some(error) = regular::open(&path, MANIFEST).err().filter(|error| !is_passed_over(error)) {
            return Err(Error::new(Status::Error, format!("{}{}", unreadable(&path, &error), by_whom())));
        }
    }
    Ok(())
}

/// What the loader said against all drivers, with what is wrong with them. It answers each of them with the same error, and a manifest
/// that is no JSON with the one that there is no memory left, whatever others there are.
pub(super) fn explained(error: Error) -> Error {
    let files = driver_manifests();
    let mut faults: Vec<String> = files.iter().filter_map(|path| fault(path)).collect();
    if faults.is_empty() && named().is_some() {
        let names: Vec<String> = files.iter().map(|path| path.shown()).collect();
        let names = if names.is_empty() { "no file".to_owned() } else { names.join(", ") };
        faults.push(format!("it tried {names}, of which no library can be loaded here, or is a Vulkan driver"));
    }
    if faults.is_empty() {
        return error;
    }
    let more = faults.len().saturating_sub(MOST_TOLD);
    faults.truncate(MOST_TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let words = format!("the Vulkan loader found no usable driver{}: {}{more} ({error})", by_whom(), faults.join("; "));
    Error::new(Status::Error, words)
}

/// Which variable named the drivers, as the end of a sentence's part.
fn by_whom() -> String {
    named().map_or_else(String::new, |(name, _)| format!(" ({name} names what it looks at)"))
}

/// Why the loader can't use what a manifest says, as far as that shows without loading it.
fn fault(path: &Path) -> Option<String> {
    let shown = path.shown();
    let bytes = match regular::read(path, MANIFEST) {
        Ok(bytes) => bytes,
        Err(error) => return Some(unreadable(path, &error)),
    };
    let Ok(manifest) = serde_json::from_slice::<Value>(&bytes) else {
        return Some(format!("{shown} is no JSON, as a driver's manifest is"));
    };
    let Some(library) = manifest["ICD"]["library_path"].as_str() else {
        return Some(format!("{shown} names no driver's library (ICD.library_path)"));
    };
    let is_name = !library.contains(['/', '\\']);
    if path.extension().is_none_or(|ending| ending != "json") {
        return Some(format!("the name of {shown} doesn't end in .json"));
    }
    // A name alone is the system's to find.
    let library = path.parent().unwrap_or(Path::new("")).join(library);
    let words = if is_name { None } else { no_library(&library) };
    words.map(|words| format!("{shown} names {}, {words}", library.shown()))
}

/// Why a file can't be read to its end.
fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("can't read {}: {error}", path.shown())
}

/// Why a file is no library, as the end of a sentence.
fn no_library(path: &Path) -> Option<String> {
    let begin = || {
        let mut begin = Vec::new();
        regular::open(path, LIBRARY)?.take(4).read_to_end(&mut begin).map(|_| begin)
    };
    match begin() {
        Err(error) => Some(format!("which can't be read: {error}")),
        Ok(begin) if !LIBRARIES.iter().any(|known| begin.starts_with(known)) => Some("which is no library".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_manifest_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let own = env::current_exe().unwrap();
        let manifest = |library: &str| serde_json::json!({ "ICD": { "library_path": library } }).to_string();
        for (name, text, expected) in [
            ("text.json", "words".to_owned(), Some("is no JSON")),
            ("empty.json", String::new(), Some("is no JSON")),
            ("none.json", "{}".to_owned(), Some("names no driver's library")),
            ("gone.json", manifest("./gone.so"), Some("gone.so, which can't be read")),
            ("lib.json", manifest("./text.json"), Some("text.json, which is no library")),
            ("folder.json", manifest("./"), Some("it is a folder")),
            ("named", manifest("lib.so"), Some("doesn't end in .json")),
            ("huge.json", " ".repeat(2 << 20), Some("it has 2 MiB")),
            ("known.json", manifest("lib.so"), None),
            ("right.json", manifest(own.to_str().unwrap()), None),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            match (fault(&path), expected) {
                (None, None) => {}
                (Some(words), Some(part)) => assert!(words.contains(part) && words.contains(name), "{words}"),
                (other, _) => panic!("{name}: {other:?}"),
            }
        }
        assert!(fault(&folder.path().join("missing.json")).unwrap().contains("can't read"));
        assert!(fault(folder.path()).unwrap().ends_with("it is a folder"));
    }
}
