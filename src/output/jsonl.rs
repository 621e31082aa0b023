//! Rows as JSON lines: one object per row, keys in the order of the columns, typed values; an empty cell has no key.

use std::io::{self, Write};

use super::Writer;
use super::json::json_row;
use crate::record::{Header, Record};

pub struct Jsonl<W> {
    out: W,
    header: Header,
}

impl<W: Write> Jsonl<W> {
    pub fn new(out: W, header: &Header) -> Self {
        Self { out, header: header.clone() }
    }
}

impl<W: Write> Writer for Jsonl<W> {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        self.out.write_all(json_row(self.header.row(record))?.as_bytes())?;
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Point;
    use crate::output::testing::Shared;

    #[test]
    fn a_row_is_an_object_of_typed_values() {
        let shared = Shared::default();
        let mut record = Record {
            host: "null".to_owned(),
            robustness: Some(false),
            status: "ok".to_owned(),
            time_ns: Some(1000.0),
            noise: Some(f64::NAN),
            samples: Some(u64::MAX),
            ..Record::new()
        };
        record = record.at(&Point::new([("n".into(), 4_u64.into()), ("op".into(), "copy".into())]));
        let mut jsonl = Jsonl::new(shared.clone(), &Header::new(["op", "n", "stride"]));
        jsonl.write(&record).unwrap();
        jsonl.write(&Record::new()).unwrap();
        jsonl.finish().unwrap();
        insta::assert_snapshot!(shared.text(), @r#"
        {"axis_values":"n=4;op=copy","status":"ok","time_ns":1000.0,"samples":18446744073709551615,"robustness":false,"host":"(null)","schema":"v2.4","n":4,"op":"copy"}
        {"schema":"v2.4"}
        "#);
    }
}
