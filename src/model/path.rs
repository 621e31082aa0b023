//! Paths of files, which are no text everywhere: on Unix they are bytes, on Windows 16-bit words.

use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path that reaches other processes as it is. What is sent to them is JSON, which is text, and serde refuses a `PathBuf` that is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(PathBuf);

impl FilePath {
    /// The path that [`path_text`] makes this text of.
    pub fn of_text(text: &str) -> Self {
        Self(system_name(text).into())
    }
}

impl From<PathBuf> for FilePath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl From<String> for FilePath {
    fn from(path: String) -> Self {
        Self(path.into())
    }
}

impl From<&str> for FilePath {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

impl From<FilePath> for PathBuf {
    fn from(FilePath(path): FilePath) -> Self {
        path
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

/// How people are shown a path: in one line, whatever it is made of. A name may hold line ends, and would look like an error of its own.
pub trait Shown {
    /// The path, with escapes for what would end the line or what no text shows.
    fn shown(&self) -> String;
}

impl Shown for Path {
    fn shown(&self) -> String {
        let mut shown = String::new();
        for c in self.display().to_string().chars() {
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
    mark(c).and_then(|part| u16::try_from(part + part_offset()).ok())
}

/// Which of the marks a character is.
fn mark(c: char) -> Option<u32> {
    u32::from(c).checked_sub(FIRST_MARK).filter(|part| *part < MARKS)
}

fn mark_of(part: u32) -> char {
    char::from_u32(FIRST_MARK + part).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// What the first mark stands for.
#[cfg(unix)]
fn part_offset() -> u32 {
    0
}

/// As above: the first half of a surrogate pair that there is.
#[cfg(windows)]
fn part_offset() -> u32 {
    0xD800
}

#[cfg(unix)]
fn with_marks(name: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt;
    let bytes = |bytes: &[u8]| bytes.iter().map(|byte| mark_of((*byte).into())).collect::<String>();
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match mark(c) {
                Some(_) => text.push_str(&bytes(c.encode_utf8(&mut [0; 4]).as_bytes())),
                None => text.push(c),
            }
        }
        text.push_str(&bytes(chunk.invalid()));
    }
    text
}

#[cfg(unix)]
fn without_marks(text: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::new();
    for c in text.chars() {
        match mark(c).and_then(|part| u8::try_from(part).ok()) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(windows)]
fn with_marks(name: &OsStr) -> String {
    use std::os::windows::ffi::OsStrExt;
    let halves = |halves: &[u16]| halves.iter().map(|half| mark_of(u32::from(*half) - part_offset())).collect::<String>();
    let mut text = String::new();
    for c in char::decode_utf16(name.encode_wide()) {
        match c {
            Ok(c) if mark(c).is_some() => text.push_str(&halves(c.encode_utf16(&mut [0; 2]))),
            Ok(c) => text.push(c),
            Err(half) => text.push_str(&halves(&[half.unpaired_surrogate()])),
        }
    }
    text
}

#[cfg(windows)]
fn without_marks(text: &str) -> OsString {
    use std::os::windows::ffi::OsStringExt;
    let mut words = Vec::new();
    for c in text.chars() {
        match path_part(c) {
            Some(half) => words.push(half),
            None => words.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
    OsString::from_wide(&words)
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
