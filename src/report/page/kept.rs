//! The rows that a page keeps, so that it can save them as they are: compressed by gzip, and written in base 64.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::{Csv, Writer};
use crate::record::{Header, Record};

/// Rows as lines of CSV without a header line.
pub fn rows<'r>(header: &Header, rows: impl Iterator<Item = &'r Record>) -> io::Result<String> {
    let mut text = Vec::new();
    let mut lines = Csv::continued(&mut text, header);
    for row in rows {
        lines.write(row)?;
    }
    packed(&text)
}

/// The header line that stands above them.
pub fn header_line(header: &Header) -> io::Result<String> {
    let mut line = Vec::new();
    Csv::new(&mut line, header)?;
    packed(&line)
}

fn packed(text: &[u8]) -> io::Result<String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text)?;
    Ok(BASE64_STANDARD.encode(packed.finish()?))
}
