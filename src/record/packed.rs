//! Rows in little memory, for what has to hold many of them.

use std::io::Write;

use super::reader::read_axes;
use super::schema::Record;

/// Between cells. No UTF-8 text holds this byte.
const SEPARATOR: u8 = 0xFF;

/// Bytes that hold most rows.
const USUAL: usize = 2048;

/// A row as the text of its cells, a third of what it takes as a [`Record`]. Rows that show the same are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed(Box<[u8]>);

impl Packed {
    pub fn new(record: &Record) -> Self {
        let mut bytes = Vec::with_capacity(USUAL);
        for cell in record.fixed_cells() {
            // Writing to memory doesn't fail.
            let _ = write!(bytes, "{cell}");
            bytes.push(SEPARATOR);
        }
        Self(bytes.as_slice().into())
    }

    /// The row again. Axes that fixed columns hold, and all others, come from the column `axis_values`.
    pub fn record(&self) -> Record {
        let mut record = Record::default();
        self.read_into(&mut record);
        record
    }

    /// The same over another row, whose memory is used again.
    pub fn read_into(&self, record: &mut Record) {
        for (field, cell) in record.fields_mut().into_iter().zip(self.0.split(|byte| *byte == SEPARATOR)) {
            field.read(std::str::from_utf8(cell).unwrap_or_default());
        }
        // It was in canonical form when it was packed.
        if read_axes(&record.axis_values, &mut record.by_axis).is_err() {
            record.by_axis.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisValue, Point};
    use crate::record::Header;

    #[test]
    fn a_row_comes_out_as_it_went_in() {
        let mut record = Record {
            device_name: "Gerät, 1".to_owned(),
            pipeline_cache_hit: Some(false),
            samples: Some(u64::MAX),
            value: Some(1.0 / 3.0),
            ratio_ci_high: Some(1e300),
            ..Record::new()
        };
        record = record.at(&Point::new([("n".into(), 4_u64.into()), ("op".into(), AxisValue::Choice("copy".into()))]));
        assert_eq!(Packed::new(&record).record(), record);
        assert_eq!(Packed::new(&Record::new()).record(), Record::new());
    }

    #[test]
    fn rows_that_show_the_same_are_equal() {
        let record = |value: f64, host: &str| Record { value: Some(value), host: host.to_owned(), ..Record::new() };
        let [nan, empty] = [record(f64::NAN, " a\n"), Record { host: "a".to_owned(), ..Record::new() }];
        assert_eq!(Packed::new(&nan), Packed::new(&empty));
        assert_ne!(Packed::new(&record(1.0, "a")), Packed::new(&record(2.0, "a")));
        let cells = |record: &Record| Header::new(["n"]).cells(record);
        assert_eq!(cells(&Packed::new(&nan).record()), cells(&nan));
    }
}
