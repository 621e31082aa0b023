//! Paths of files, which are no text everywhere: on Unix they are bytes, on Windows 16-bit words.

use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// A path that reaches other processes as it is. What is sent to them is JSON, which is text, and serde refuses a `PathBuf` that is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(PathBuf);

impl FilePath {
    /// The path that [`path_text`] makes this text of.
    pub fn of_text(text: &str) -> Self {
        Self(system_name(text).into())
    }
}

impl<P: Into<PathBuf>> From<P> for FilePath {
    fn from(path: P) -> Self {
        Self(path.into())
    }
}

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        path_text(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::of_text(&text))
    }
}

/// How people are shown a path, or a name from somebody's file: in one line: with line ends it would look like an error of its own.
pub trait Shown {
    /// With escapes for what would end the line or what no text shows.
    fn shown(&self) -> String;
}

impl Shown for Path {
    fn shown(&self) -> String {
        self.display().to_string().as_str().shown()
    }
}

impl Shown for str {
    fn shown(&self) -> String {
        let mut shown = String::new();
        for c in self.chars() {
            if c.is_control() { shown.extend(c.escape_unicode()) } else { shown.push(c) }
        }
        shown
    }
}

// ---- as text and back -----------------------------------------------------------------------------------------------------

/// What stands for the parts of a name that are no text: this character and the 2047 behind it, one for each byte from 0x80 on, or for
/// each half of a surrogate pair. They are of a private plane that nobody gave a meaning. Where a name has them itself, they are
/// parts that are no text as well: so each name has a text of its own.
const FIRST_MARK: u32 = 0x10_F000;
const MARKS: u32 = 0x800;

/// A path as text that [`FilePath::of_text`] makes the same path of. A path that is text stays as it is: so messages can be read, and
/// the hashes of those paths are what they always were.
pub fn path_text(path: &Path) -> String {
    name_text(path.as_os_str())
}

/// The same of any name that the system gives.
pub fn name_text(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.chars().any(|c| mark(c).is_some()) => text.to_owned(),
        _ => with_marks(name),
    }
}

/// The name that [`name_text`] makes this text of.
pub fn system_name(text: &str) -> OsString {
    if text.chars().any(|c| mark(c).is_some()) { without_marks(text) } else { text.into() }
}

/// Such a text with a replacement character for each part that is no text.
pub fn readable(text: &str) -> String {
    text.chars().map(|c| if mark(c).is_some() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// What a character stands for, as the byte or the half of a pair that it is.
pub fn path_part(c: char) -> Option<u16> {
    let part = mark(c).and_then(|part| u16::try_from(part + u32::from(*system::ODD_PARTS.start())).ok());
    part.filter(|part| system::ODD_PARTS.contains(part))
}

/// Which of the marks a character is.
fn mark(c: char) -> Option<u32> {
    u32::from(c).checked_sub(FIRST_MARK).filter(|part| *part < MARKS)
}

fn mark_of(part: u32) -> char {
    char::from_u32(FIRST_MARK + part).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn with_marks(name: &OsStr) -> String {
    let marks =
        |parts: &[u16]| parts.iter().map(|part| mark_of(u32::from(part - system::ODD_PARTS.start()))).collect::<String>();
    let mut text = String::new();
    for part in system::name_parts(name) {
        match part {
            Ok(c) if mark(c).is_some() => text.push_str(&marks(&system::parts_of(c))),
            Ok(c) => text.push(c),
            Err(part) => text.push_str(&marks(&[part])),
        }
    }
    text
}

fn without_marks(text: &str) -> OsString {
    system::name_of(text.chars().map(|c| path_part(c).map_or(Ok(c), Err)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_text_is_sent_as_it_is() {
        for text in ["", "a b/\u{e9}.comp", "\u{10FFFF}\u{FFFD}\n"] {
            let path = FilePath::from(PathBuf::from(text));
            assert_eq!(serde_json::to_value(&path).unwrap(), text);
            assert_eq!((path_text(&path), readable(text)), (text.to_owned(), text.to_owned()));
            assert_eq!(serde_json::from_value::<FilePath>(text.into()).unwrap(), path);
        }
    }

    #[test]
    fn each_name_has_a_text_of_its_own_and_comes_back() {
        let mut names: Vec<OsString> = vec!["a".into(), "\u{10F0FF}".into(), "\u{10F7FF}x".into(), "\u{FFFD}".into()];
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let odd: [&[u8]; 5] = [b"\xFF", b"\xFE.comp", b"a\xE2\x82/b", b"\xF4\x8F\x83\xBF\xF4", b"\xED\xA0\x80"];
            names.extend(odd.map(|bytes| OsStr::from_bytes(bytes).to_owned()));
        }
        #[cfg(windows)]
        {
            use std::os::windows::ffi::OsStringExt;
            let odd: [&[u16]; 3] = [&[0xD800], &[0xDBFC, 0xDC00, 0xDBFC], &[0x61, 0xDFFF, 0x62]];
            names.extend(odd.map(OsString::from_wide));
        }
        let texts: std::collections::BTreeSet<String> = names.iter().map(|name| name_text(name)).collect();
        assert_eq!(texts.len(), names.len());
        for name in names {
            let text = name_text(&name);
            assert_eq!(system_name(&text), name, "{text:?}");
            let path = FilePath::from(PathBuf::from(&name));
            let sent = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<FilePath>(&sent).unwrap(), path, "{sent}");
            assert!(!readable(&text).chars().any(|c| mark(c).is_some()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_part_that_is_no_text_is_known() {
        use std::os::unix::ffi::OsStrExt;
        let text = name_text(OsStr::from_bytes(b"a\xFF"));
        assert_eq!(text.chars().map(path_part).collect::<Vec<_>>(), [None, Some(0xFF)]);
        assert_eq!(readable(&text), "a\u{FFFD}");
    }
}
