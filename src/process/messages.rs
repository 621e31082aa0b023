//! What processes of this program say to each other: lines of JSON.
//!
//! A library may print to a process's standard output whatever it likes. So each line begins after a line end of its own, and what isn't
//! understood is passed on as that library's words.

use std::io::{self, BufRead, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub fn write(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

#[derive(Clone, Debug, PartialEq)]
pub enum Line<T> {
    Message(T),
    /// Something else: a library's words.
    Words(String),
}

/// Reads the next line that isn't blank; `None` at the end. What is longer than any message comes in pieces, as words.
pub fn read<T: DeserializeOwned>(input: &mut impl BufRead, longest: u64) -> io::Result<Option<Line<T>>> {
    loop {
        let mut line = Vec::new();
        if input.take(longest).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        return Ok(Some(match serde_json::from_slice(text) {
            Ok(message) => Line::Message(message),
            Err(_) => Line::Words(String::from_utf8_lossy(text).into_owned()),
        }));
    }
}
