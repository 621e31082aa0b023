//! The GLSL sources: those under `glsl/`, embedded in the binary, and any that a caller adds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use include_dir::{Dir, DirEntry, include_dir};
use serde::{Deserialize, Serialize};

use super::with_local_size_ids;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/glsl");

/// Where the embedded sources have what several of them include.
const INCLUDE_FOLDER: &str = "include";

/// GLSL sources by path, such as `memory/stream.comp`; `/` separates folders on every system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Library {
    sources: BTreeMap<String, Cow<'static, str>>,
    /// Where `#include` looks after the including file's own folder.
    include_folders: Vec<String>,
    /// Why something that is there is no source.
    unreadable: BTreeMap<String, String>,
}

impl Library {
    pub fn embedded() -> Self {
        let mut sources = BTreeMap::new();
        collect(&EMBEDDED, &mut sources);
        Self { sources, include_folders: vec![INCLUDE_FOLDER.to_owned()], unreadable: BTreeMap::new() }
    }

    pub fn empty(include_folders: Vec<String>) -> Self {
        Self { sources: BTreeMap::new(), include_folders, unreadable: BTreeMap::new() }
    }

    #[must_use]
    pub fn with(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.sources.insert(path.into(), Cow::Owned(text.into()));
        self
    }

    /// This library, which knows why something at a path can't be a source: who includes it is told that.
    #[must_use]
    pub fn with_unreadable(mut self, path: impl Into<String>, why: impl Into<String>) -> Self {
        self.unreadable.insert(path.into(), why.into());
        self
    }

    /// This library with [`with_local_size_ids`] in each source.
    #[must_use]
    pub fn with_local_size_ids(mut self, ids: [Option<u32>; 3]) -> Self {
        self.sources.values_mut().for_each(|text| *text = Cow::Owned(with_local_size_ids(text, ids)));
        self
    }

    pub fn get(&self, path: &str) -> Option<&str> {
        self.sources.get(path).map(AsRef::as_ref)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    pub fn shaders(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str).filter(|path| path.ends_with(".comp"))
    }

    /// What `#include "requested"` means in the file `including`: relative to that file's folder, else to the include folders.
    pub fn resolve(&self, including: &str, requested: &str) -> Result<(String, &str), String> {
        for path in self.places(including, requested) {
            if let Some(text) = self.sources.get(&path) {
                return Ok((path, text));
            }
            if let Some(why) = self.unreadable.get(&path) {
                return Err(format!("can't read {path}: {why}"));
            }
        }
        Err(format!("no `{requested}` beside {including} nor in the include folders"))
    }

    /// The paths that it may mean, in the order in which they are tried.
    pub fn places(&self, including: &str, requested: &str) -> impl Iterator<Item = String> {
        let own_folder = including.rsplit_once('/').map_or("", |(folder, _)| folder);
        let folders = std::iter::once(own_folder).chain(self.include_folders.iter().map(String::as_str));
        folders.filter_map(|folder| join(folder, requested)).collect::<Vec<_>>().into_iter()
    }
}

fn collect(folder: &Dir<'static>, sources: &mut BTreeMap<String, Cow<'static, str>>) {
    for entry in folder.entries() {
        match entry {
            DirEntry::Dir(inner) => collect(inner, sources),
            DirEntry::File(file) => {
                let Some(text) = file.contents_utf8() else { continue };
                let parts: Vec<_> = file.path().iter().map(|part| part.to_string_lossy()).collect();
                sources.insert(parts.join("/"), unix_lines(text));
            }
        }
    }
}

/// A checkout may have turned line ends into CRLF; source hashes have to agree between hosts.
fn unix_lines(text: &'static str) -> Cow<'static, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Joins and resolves `.` and `..`; nothing where the path would leave the library.
pub(super) fn join(folder: &str, relative: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in folder.split('/').chain(relative.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_sources_are_found_by_path() {
        let library = Library::embedded();
        assert!(library.get("include/local_size.glsl").unwrap().contains("local_size_x_id"));
        assert!(library.shaders().all(|path| path.ends_with(".comp")));
        assert!(library.with("family/new.comp", "").shaders().any(|path| path == "family/new.comp"));
    }

    #[test]
    fn an_include_is_sought_beside_its_file_first() {
        let library = Library::embedded()
            .with("memory/a.glsl", "beside")
            .with("include/a.glsl", "shared")
            .with("include/b.glsl", "shared");
        let resolve = |including, requested| library.resolve(including, requested);
        assert_eq!(resolve("memory/x.comp", "a.glsl"), Ok(("memory/a.glsl".to_owned(), "beside")));
        assert_eq!(resolve("cache/x.comp", "a.glsl"), Ok(("include/a.glsl".to_owned(), "shared")));
        assert_eq!(resolve("memory/x.comp", "../include/b.glsl"), Ok(("include/b.glsl".to_owned(), "shared")));
        assert_eq!(resolve("include/a.glsl", "./b.glsl"), Ok(("include/b.glsl".to_owned(), "shared")));
        assert!(resolve("memory/x.comp", "../../b.glsl").unwrap_err().starts_with("no `../../b.glsl` beside memory/x.comp"));
    }

    #[test]
    fn what_cannot_be_read_is_told_where_it_would_be_the_one() {
        let library = Library::empty(vec!["one".to_owned(), "two".to_owned()]).with("two/a.glsl", "").with("own/b.glsl", "");
        let library = library.with_unreadable("one/a.glsl", "it is a pipe").with_unreadable("two/b.glsl", "it is a pipe");
        assert_eq!(library.resolve("own/x.comp", "a.glsl").unwrap_err(), "can't read one/a.glsl: it is a pipe");
        assert_eq!(library.resolve("own/x.comp", "b.glsl").unwrap().0, "own/b.glsl");
    }
}
