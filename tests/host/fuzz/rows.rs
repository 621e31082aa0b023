//! What holds of any bytes that are taken for a file of rows.

use lanescope::output::{Csv, Jsonl, Writer};
use lanescope::record::{Header, Reader, Record};

/// Reads rows, and holds what is written of them against what was read. Tells how many there were.
pub fn check(bytes: &[u8]) -> usize {
    let Ok(reader) = Reader::new("fuzzed.csv", bytes) else { return 0 };
    let mut rows = Vec::new();
    for row in reader {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => assert!(error.to_string().starts_with("fuzzed.csv"), "{error}"),
        }
    }
    check_rows(&rows);
    rows.len()
}

/// What a row shows, written and read again, is the same.
pub fn check_rows(rows: &[Record]) {
    let header = Header::new(rows.iter().flat_map(|row| row.by_axis.keys().cloned()));
    let text = csv(rows, &header);
    let back: Vec<Record> = Reader::new("written.csv", &text[..]).unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), back.len());
    for (row, back) in rows.iter().zip(&back) {
        assert_eq!(header.cells(row), header.cells(back));
        assert_eq!(row.by_axis, back.by_axis);
    }
    assert_eq!(text, csv(&back, &header));
    assert_eq!(text.split(|byte| *byte == b'\n').count(), rows.len() + 2, "a row is a line");
    assert_eq!(objects(rows, &header), rows.len());
}

fn csv(rows: &[Record], header: &Header) -> Vec<u8> {
    let mut text = Vec::new();
    let mut writer = Csv::new(&mut text, header).unwrap();
    rows.iter().for_each(|row| writer.write(row).unwrap());
    text
}

/// How many JSON objects are written.
fn objects(rows: &[Record], header: &Header) -> usize {
    let mut text = Vec::new();
    let mut writer = Jsonl::new(&mut text, header);
    rows.iter().for_each(|row| writer.write(row).unwrap());
    let objects = serde_json::Deserializer::from_slice(&text).into_iter::<serde_json::Map<String, serde_json::Value>>();
    objects.collect::<Result<Vec<_>, _>>().unwrap().len()
}
