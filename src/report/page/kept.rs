//! The rows that a page keeps, so that it can save them as they are: compressed by gzip, and written in base 64.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::{Csv, Writer};
use crate::record::{Header, Packed, Record};

/// Rows as lines of CSV without a header line.
pub fn rows<'r>(header: &Header, rows: impl Iterator<Item = &'r Packed>) -> io::Result<String> {
    let mut compressed = Compressed::default();
    let (mut lines, mut record) = (Csv::continued(&mut compressed, header), Record::default());
    for row in rows {
        row.read_into(&mut record);
        lines.write(&record)?;
    }
    drop(lines);
    compressed.text()
}

/// The header line that stands above them.
pub fn header_line(header: &Header) -> io::Result<String> {
    let mut compressed = Compressed::default();
    Csv::new(&mut compressed, header)?;
    compressed.text()
}

struct Compressed(GzEncoder<Vec<u8>>);

impl Default for Compressed {
    fn default() -> Self {
        Self(GzEncoder::new(Vec::new(), Compression::best()))
    }
}

impl Compressed {
    fn text(self) -> io::Result<String> {
        Ok(BASE64_STANDARD.encode(self.0.finish()?))
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// Nobody reads it before its end, and what is flushed line by line isn't compressed well.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
