//! Names of Unix: bytes.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What parts of a name can be that are no text, and those of characters beyond the first plane.
pub const ODD_PARTS: RangeInclusive<u16> = 0..=0xFF;

/// A name's characters, and the bytes that are none.
pub fn name_parts(name: &OsStr) -> impl Iterator<Item = Result<char, u16>> {
    let chunks = name.as_bytes().utf8_chunks();
    chunks.flat_map(|chunk| chunk.valid().chars().map(Ok).chain(chunk.invalid().iter().map(|byte| Err((*byte).into()))))
}

/// The bytes that a name has for a character.
pub fn parts_of(c: char) -> Vec<u16> {
    c.encode_utf8(&mut [0; 4]).bytes().map(u16::from).collect()
}

/// The name of these parts. What is no byte is left out.
pub fn name_of(parts: impl Iterator<Item = Result<char, u16>>) -> OsString {
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Ok(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(byte) => bytes.extend(u8::try_from(byte)),
        }
    }
    OsString::from_vec(bytes)
}
