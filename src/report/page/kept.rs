//! The rows that a page keeps, so that it can save them as they are: compressed, as text.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::{Csv, Writer};
use crate::record::{Header, Record};

/// Rows as lines of CSV without a header line, compressed by gzip and written in base 64.
///
/// # Errors
/// None: it is written to memory.
pub fn rows<'r>(header: &Header, rows: impl Iterator<Item = &'r Record>) -> io::Result<String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let mut lines = Csv::continued(io::BufWriter::new(&mut packed), header);
    for row in rows {
        lines.write(row)?;
    }
    lines.finish()?;
    drop(lines);
    Ok(BASE64_STANDARD.encode(packed.finish()?))
}

/// The header line that stands above them, likewise.
///
/// # Errors
/// As [`rows`].
pub fn header_line(header: &Header) -> io::Result<String> {
    let mut line = Vec::new();
    Csv::new(&mut line, header)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&line)?;
    Ok(BASE64_STANDARD.encode(packed.finish()?))
}
