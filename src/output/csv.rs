//! Rows as CSV: RFC 4180, UTF-8, one header line.
//!
//! Lines end in a line feed alone, the one liberty taken with the RFC: Python, pandas, DuckDB, R and spreadsheets read both, while
//! `cut`, `awk`, `join` and `diff` would find a carriage return in every last cell.

use std::io::{self, Write};

use super::Writer;
use crate::record::{Header, Record};

pub struct Csv<W> {
    out: W,
    header: Header,
    /// The cell being written.
    cell: Vec<u8>,
}

impl<W: Write> Csv<W> {
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let mut line = csv::Writer::from_writer(Vec::new());
        line.write_record(header.names())?;
        hand_over(&mut out, &line.into_inner().map_err(csv::IntoInnerError::into_error)?)?;
        Ok(Self::continued(out, header))
    }

    /// A writer of more rows to what has a header line already.
    pub fn continued(out: W, header: &Header) -> Self {
        Self { out, header: header.clone(), cell: Vec::new() }
    }
}

impl<W: Write> Writer for Csv<W> {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line = Vec::new();
        let mut csv = csv::Writer::from_writer(&mut line);
        for (_, cell) in self.header.row(record) {
            self.cell.clear();
            // Writing to memory doesn't fail.
            let _ = write!(self.cell, "{cell}");
            csv.write_field(&self.cell)?;
        }
        csv.write_record(None::<&[u8]>)?;
        csv.flush()?;
        drop(csv);
        hand_over(&mut self.out, &line)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Hands a line over whole, so that a process that is killed leaves no half row behind.
fn hand_over(out: &mut impl Write, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{AxisValue, Point};
    use crate::output::testing::Shared;
    use crate::record::Reader;

    fn written(header: &Header, records: &[Record]) -> String {
        let shared = Shared::default();
        let mut csv = Csv::new(shared.clone(), header).unwrap();
        for record in records {
            csv.write(record).unwrap();
        }
        csv.finish().unwrap();
        shared.text()
    }

    prop_compose! {
        fn rows()(
            text in any::<String>(),
            statistics in "(\\{\"[a-z, ]{0,9}\": \"1\"\\})?",
            reason in "[ -~]{0,30}|NULL|nan",
            whole in any::<Option<u64>>(),
            real in any::<Option<f64>>(),
            truth in any::<Option<bool>>(),
            n in any::<u64>(),
            op in "[a-z]{1,4}",
        ) -> Record {
            let mut record = Record {
                device_name: text, statistics, reason, samples: whole, value: real, pipeline_cache_hit: truth, ..Record::new()
            };
            record = record.at(&Point::new([("n".into(), n.into()), ("op".into(), AxisValue::Choice(op.into()))]));
            record
        }
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn whatever_a_row_holds_reads_back(records in prop::collection::vec(rows(), 0..4)) {
            let header = Header::new(["n", "op"]);
            let text = written(&header, &records);
            let back: Vec<Record> = Reader::new("rows.csv", text.as_bytes()).unwrap().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(text.lines().count(), records.len() + 1);
            prop_assert_eq!(back.len(), records.len());
            for (record, back) in records.iter().zip(&back) {
                prop_assert_eq!(record.value.filter(|value| value.is_finite()), back.value);
                prop_assert_eq!(record.samples, back.samples);
                prop_assert_eq!(&record.by_axis, &back.by_axis);
                prop_assert_eq!(header.cells(record), header.cells(back));
            }
        }
    }
}
