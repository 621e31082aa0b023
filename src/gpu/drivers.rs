//! What is wrong with drivers that the loader can't use: it doesn't say so itself.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use libloading::Library;

use super::error::Error;
use super::manifests::{self, MANIFEST, driver_manifests, layer_manifests, library_path, named_drivers};
use crate::model::{Shown, Status};
use crate::platform::this_program;
use crate::regular::{self, Kind};

/// A driver's library, of which only the beginning is read.
const LIBRARY: Kind = Kind { what: "a driver's library", largest: u64::MAX, may_stream: false };

const MOST_TOLD: usize = 3;

/// How libraries begin: ELF, the two of macOS, and Windows'.
const LIBRARIES: [&[u8]; 4] = [b"\x7FELF", b"\xCF\xFA\xED\xFE", b"\xCA\xFE\xBA\xBE", b"MZ"];

/// Bytes of an ELF file up to the processor that it is for, and where its two words about that are.
const ELF_HEADER: u64 = 20;
const ELF_CLASS: usize = 4;
const ELF_MACHINE: usize = 18;

/// Demands that the loader can read all manifests to their ends: it would wait for a pipe for ever, and take a device's or a huge file's
/// bytes for as long as there is memory.
pub(super) fn check() -> Result<(), Error> {
    // What isn't there or may not be read, the loader passes over.
    let is_passed_over =
        |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::IsADirectory);
    let check = |path: &PathBuf, by_whom: String| match regular::open(path, MANIFEST) {
        Err(error) if !is_passed_over(&error) => {
            Err(Error::new(Status::Error, format!("can't read {}: {error}{by_whom}", path.shown())))
        }
        _ => Ok(()),
    };
    driver_manifests().iter().try_for_each(|path| check(path, by_whom()))?;
    layer_manifests().iter().try_for_each(|path| check(path, String::new()))
}

/// What the loader said against all drivers, with what is wrong with them. It answers each of them with the same error, and a manifest
/// that is no JSON with the one that there is no memory left, whatever others there are.
pub(super) fn explained(error: Error) -> Error {
    let files = driver_manifests();
    let fault = |path: &PathBuf| Some(format!("{}: {}", path.shown(), Named::by(path).fault()?));
    let mut faults: Vec<String> = files.iter().filter_map(fault).collect();
    if faults.is_empty() && named_drivers().is_some() {
        let names: Vec<String> = files.iter().map(|path| path.shown()).collect();
        let names = if names.is_empty() { "no file".to_owned() } else { names.join(", ") };
        faults.push(format!("it tried {names}, none of which is a Vulkan driver for this machine"));
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
    named_drivers().map_or_else(String::new, |(name, _)| format!(" ({name} names what it looks at)"))
}

/// The folders of manifests, and of the libraries that these name by paths.
pub fn vulkan_folders() -> Vec<PathBuf> {
    let drivers = driver_manifests();
    let libraries = drivers.iter().filter_map(|manifest| Named::by(manifest).library.ok());
    let layers = manifests::layers().into_iter().map(|layer| layer.library.to_path_buf());
    let all = libraries.chain(layers).chain(drivers.clone()).chain(layer_manifests());
    all.filter_map(|path| path.parent().map(Path::to_owned)).collect()
}

/// What a driver's manifest names.
pub(super) struct Named {
    /// The driver's library, or why the manifest can't be used.
    pub(super) library: Result<PathBuf, String>,
    /// Whether it is for programs of another kind of processor: the loader passes it over.
    pub(super) is_foreign: bool,
}

impl Named {
    pub(super) fn by(path: &Path) -> Self {
        let bad = |words: String| Self { library: Err(words), is_foreign: false };
        let manifest = match manifests::read(path) {
            Ok(manifest) => manifest,
            Err(Some(error)) => return bad(format!("it can't be read: {error}")),
            Err(None) => return bad("it is no JSON, as a driver's manifest is".to_owned()),
        };
        let Some(library) = manifest["ICD"]["library_path"].as_str() else {
            return bad("it names no driver's library (ICD.library_path)".to_owned());
        };
        if path.extension().is_none_or(|ending| ending != "json") {
            return bad("its name doesn't end in .json".to_owned());
        }
        let library = library_path(path, library);
        let width = manifest["ICD"]["library_arch"].as_str();
        let is_foreign = width.is_some_and(|width| width != usize::BITS.to_string()) || is_foreign(&library);
        Self { library: Ok(library), is_foreign }
    }

    /// Why the loader can't use it, as the end of a sentence. Loads the driver's library to find out.
    pub(super) fn fault(&self) -> Option<String> {
        let library = match &self.library {
            Ok(library) => library,
            Err(words) => return Some(words.clone()),
        };
        let shown = library.shown();
        // A name alone is the system's to find.
        let is_name = library.components().count() == 1;
        let words = if is_name { None } else { no_library(library) };
        if let Some(words) = words {
            return Some(format!("it names {shown}, {words}"));
        }
        if self.is_foreign {
            return Some(format!("it names {shown}, which is for another kind of processor"));
        }
        // SAFETY: loading a driver runs its constructors, which is what the loader does with all that manifests name.
        let error = unsafe { Library::new(library) }.err()?;
        let mut words = error.to_string();
        if let Some(cause) = std::error::Error::source(&error) {
            words = format!("{words}: {cause}");
        }
        Some(format!("it names {shown}, which can't be loaded: {words}"))
    }
}

/// Why a file is no library, as the end of a sentence.
fn no_library(path: &Path) -> Option<String> {
    match header(path) {
        Err(error) => Some(format!("which can't be read: {error}")),
        Ok(begin) if !LIBRARIES.iter().any(|known| begin.starts_with(known)) => Some("which is no library".to_owned()),
        Ok(_) => None,
    }
}

fn header(path: &Path) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    regular::open(path, LIBRARY)?.take(ELF_HEADER).read_to_end(&mut begin).map(|_| begin)
}

/// Whether an ELF file is for another kind of processor than this program.
fn is_foreign(library: &Path) -> bool {
    let kind = |path: &Path| {
        let header = header(path).ok().filter(|header| header.starts_with(LIBRARIES[0]))?;
        Some((*header.get(ELF_CLASS)?, header.get(ELF_MACHINE..)?.to_vec()))
    };
    let own = this_program().ok().and_then(|own| kind(&own));
    own.zip(kind(library)).is_some_and(|(own, library)| own != library)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows has words of its own for such a library.
    const FOREIGN: &str = if cfg!(unix) { "other.so, which is for another kind of processor" } else { "can't be loaded" };

    #[test]
    fn what_is_wrong_with_a_manifest_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let own = header(&std::env::current_exe().unwrap()).unwrap();
        let mut other = own.clone();
        other[ELF_MACHINE] ^= 1;
        std::fs::write(folder.path().join("cut.so"), &own).unwrap();
        std::fs::write(folder.path().join("other.so"), &other).unwrap();
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
            ("name.json", manifest("libnowhere.so"), Some("libnowhere.so, which can't be loaded")),
            ("broken.json", manifest("./cut.so"), Some("cut.so, which can't be loaded")),
            ("foreign.json", manifest("./other.so"), Some(FOREIGN)),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            match (Named::by(&path).fault(), expected) {
                (None, None) => {}
                (Some(words), Some(part)) => assert!(words.contains(part), "{name}: {words}"),
                (other, _) => panic!("{name}: {other:?}"),
            }
        }
        assert!(Named::by(&folder.path().join("missing.json")).fault().unwrap().contains("can't be read"));
        assert!(Named::by(folder.path()).fault().unwrap().ends_with("it is a folder"));
    }
}
