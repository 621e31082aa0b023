//! Names of Windows: 16-bit words.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::windows::ffi::{OsStrExt, OsStringExt};

/// What parts of a name can be that are no text, and those of characters beyond the first plane.
pub const ODD_PARTS: RangeInclusive<u16> = 0xD800..=0xDFFF;

/// A name's characters, and the halves of surrogate pairs that are none.
pub fn name_parts(name: &OsStr) -> impl Iterator<Item = Result<char, u16>> {
    char::decode_utf16(name.encode_wide()).map(|part| part.map_err(|half| half.unpaired_surrogate()))
}

/// The words that a name has for a character.
pub fn parts_of(c: char) -> Vec<u16> {
    c.encode_utf16(&mut [0; 2]).to_vec()
}

pub fn name_of(parts: impl Iterator<Item = Result<char, u16>>) -> OsString {
    let mut words = Vec::new();
    for part in parts {
        match part {
            Ok(c) => words.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            Err(half) => words.push(half),
        }
    }
    OsString::from_wide(&words)
}
