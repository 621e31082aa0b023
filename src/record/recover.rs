//! The whole rows of a file that its writer may have left unfinished: killed, out of disk, out of power.
//!
//! Only the end of such a file can be torn, since rows are appended whole and in order. What counts as whole:
//!
//! - A row ends with a line feed. Without one it may have lost digits of its last cell and look right nevertheless.
//! - The very last row may also be torn before its line feed (a page that never reached the disk reads as zero bytes): it is
//!   dropped where it has too few or too many cells, isn't UTF-8, or holds zero bytes.
//! - The same defect in any earlier row is an error, as are cells that contradict their columns anywhere: those weren't torn, and
//!   dropping them would hide what happened.
//! - A file that ends within its header line holds no rows, and is an error of its own kind ([`ReadError::holds_no_rows`]), so
//!   that a caller may begin such a file anew, but never one that isn't of rows at all.

use std::fmt;
use std::io::{self, Read};

use super::reader::{Layout, ReadError};
use crate::units::Bytes;

const CHUNK: usize = 64 << 10;

/// The longest row that is read, in bytes: no row comes near. Something else may have no line end at all, and no end.
const LONGEST_ROW: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The line on which the torn row begins.
    pub line: u64,
    /// The bytes before it: all that is whole. A file shortened to them can be appended to.
    pub whole_bytes: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the last row was cut at line {}", self.line)
    }
}

/// What the file is instead of CSV in UTF-8, where its first bytes tell, and what to do.
fn other_form(begin: &[u8]) -> Option<&'static str> {
    match begin {
        [0x1f, 0x8b, ..] => Some("it is compressed by gzip: give what `zcat` makes of it"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("it is compressed by zstd: give what `zstdcat` makes of it"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("it is UTF-16, as PowerShell 5 writes it: save it as UTF-8"),
        _ => None,
    }
}

/// Whether all there is can be the beginning of a header line that never got its end.
fn is_torn_header(tail: &[u8]) -> bool {
    let written = tail.iter().position(|byte| *byte == 0).unwrap_or(tail.len());
    let (written, zeros) = tail.split_at(written);
    let is_zero = zeros.iter().all(|byte| *byte == 0);
    let is_header = |written: &str| [Layout::V1, Layout::V2].into_iter().any(|layout| begins_header(layout, written));
    is_zero && std::str::from_utf8(written).is_ok_and(is_header)
}

/// Whether a text can be the beginning of a header line: fixed columns in their order, but for those that a file may lack, then axes.
/// The last name may have lost its end.
fn begins_header(layout: Layout, written: &str) -> bool {
    let fixed = layout.names();
    let may_lack = |column: &&str| layout.may_lack(column);
    let behind = |left: &[&str], is_it: &dyn Fn(&str) -> bool| {
        let place = left.iter().position(|column| is_it(column))?;
        left[..place].iter().all(may_lack).then_some(place + 1)
    };
    let is_axis = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (whole, last) = written.rsplit_once(',').unwrap_or(("", written));
    let (mut left, mut has_axes) = (&fixed[..], false);
    for name in whole.split(',').filter(|name| !name.is_empty()) {
        match behind(left, &|column| column == name) {
            Some(place) if !has_axes => left = &left[place..],
            _ if is_axis(name) => has_axes = true,
            _ => return false,
        }
    }
    let may_be_axis = left.iter().all(may_lack) && is_axis(last);
    may_be_axis || (!has_axes && behind(left, &|column| column.starts_with(last)).is_some())
}

/// Where in a row the scan is, as the CSV reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FieldStart,
    Bare,
    Quoted,
    /// After a quote in a quoted cell: its end, or the first of two that stand for one.
    Closing,
}

impl State {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::FieldStart | Self::Closing, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::Closing,
            (Self::Quoted, _) => Self::Quoted,
            (_, b',' | b'\n' | b'\r') => Self::FieldStart,
            _ => Self::Bare,
        }
    }
}

/// Passes on what ends with a line feed, and withholds the rest.
pub(super) struct WholeRows<R> {
    input: R,
    buffer: Vec<u8>,
    /// Up to here the buffer was passed on.
    passed: usize,
    /// Up to here its rows are whole.
    whole: usize,
    state: State,
    is_at_end: bool,
    /// Whether the first line ends by a carriage return and a line feed; nothing before its end.
    has_both: Option<bool>,
    /// Bytes and lines that went before the buffer.
    bytes_before: u64,
    lines_before: u64,
}

impl<R: Read> WholeRows<R> {
    pub(super) fn begin(file: &str, input: R) -> Result<Self, ReadError> {
        let (passed, whole, state) = (0, 0, State::FieldStart);
        let (buffer, is_at_end, has_both, bytes_before, lines_before) = (Vec::new(), false, None, 0, 0);
        let mut rows = Self { input, buffer, passed, whole, state, is_at_end, has_both, bytes_before, lines_before };
        let of_file = |problem: String| ReadError::of_file(file.to_owned(), problem);
        rows.fill().map_err(|error| of_file(format!("can't be read: {error}")))?;
        if let Some(words) = other_form(&rows.buffer) {
            return Err(of_file(words.to_owned()));
        }
        if rows.whole == 0 && is_torn_header(rows.tail()) {
            return Err(ReadError::without_rows(file.to_owned(), "holds no rows: it ends within its header line"));
        }
        if rows.whole == 0 && rows.tail().contains(&b'\r') {
            let words = "its lines end in carriage returns alone: convert them to line feeds, as `tr '\\r' '\\n'` does";
            return Err(of_file(words.to_owned()));
        }
        Ok(rows)
    }

    pub(super) fn has_two_ends(&self) -> bool {
        self.has_both == Some(true)
    }

    /// Reads on until there is something to pass on, or nothing more comes.
    fn fill(&mut self) -> io::Result<()> {
        while self.passed == self.whole && !self.is_at_end {
            self.lines_before += self.lines_in_whole();
            drop(self.buffer.drain(..self.whole));
            self.bytes_before += self.whole as u64;
            (self.passed, self.whole) = (0, 0);
            let scanned = self.buffer.len();
            if scanned > LONGEST_ROW {
                let line = self.lines_before + 1;
                let words = format!("line {line} is longer than {}: this is no file of rows", Bytes(LONGEST_ROW as u64));
                return Err(io::Error::new(io::ErrorKind::InvalidData, words));
            }
            self.is_at_end = (&mut self.input).take(CHUNK as u64).read_to_end(&mut self.buffer)? == 0;
            self.scan(scanned);
        }
        if self.is_at_end && self.tail().contains(&b'\n') {
            // A torn row is on one line. Whatever happened here, rows would be lost with it.
            let line = self.lines_before + self.lines_in_whole() + 1;
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a quote that line {line} opens is never closed")));
        }
        Ok(())
    }

    /// Looks at the bytes from here on for the last end of a row.
    fn scan(&mut self, from: usize) {
        let fresh = &self.buffer[from..];
        if self.has_both.is_none() {
            let end = fresh.iter().position(|byte| *byte == b'\n').map(|end| from + end);
            self.has_both = end.map(|end| end > 0 && self.buffer[end - 1] == b'\r');
        }
        let mut place = from;
        while place < self.buffer.len() {
            let rest = &self.buffer[place..];
            // What isn't a quote changes little until one comes.
            let plain = match self.state {
                State::Closing => 0,
                _ => memchr::memchr(b'"', rest).unwrap_or(rest.len()),
            };
            if self.state != State::Quoted && plain > 0 {
                let end = memchr::memrchr(b'\n', &rest[..plain]);
                self.whole = end.map_or(self.whole, |end| place + end + 1);
                self.state = State::Bare.after(rest[plain - 1]);
            }
            if let Some(byte) = rest.get(plain) {
                self.state = self.state.after(*byte);
                if *byte == b'\n' && self.state == State::FieldStart {
                    self.whole = place + plain + 1;
                }
            }
            place += plain + 1;
        }
    }

    fn tail(&self) -> &[u8] {
        &self.buffer[self.whole..]
    }

    fn lines_in_whole(&self) -> u64 {
        self.buffer[..self.whole].iter().filter(|byte| **byte == b'\n').count() as u64
    }

    /// What was withheld, once all was passed on.
    pub(super) fn cut(&self) -> Option<Cut> {
        (self.is_at_end && !self.tail().is_empty()).then(|| Cut {
            line: self.lines_before + self.lines_in_whole() + 1,
            whole_bytes: self.bytes_before + self.whole as u64,
        })
    }
}

impl<R: Read> Read for WholeRows<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let count = (self.whole - self.passed).min(out.len());
        out[..count].copy_from_slice(&self.buffer[self.passed..self.passed + count]);
        self.passed += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{Header, Reader, Record, v1};

    /// A file as the writer leaves it, and where its lines end.
    fn file(records: &[Record]) -> (Vec<u8>, Vec<usize>) {
        let header = Header::new(["n"]);
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(header.names()).unwrap();
        records.iter().for_each(|record| csv.write_record(header.cells(record)).unwrap());
        let bytes = csv.into_inner().unwrap();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(i, _)| i + 1).collect();
        (bytes, ends)
    }

    fn row(case_id: &str, reason: &str) -> Record {
        Record {
            case_id: case_id.to_owned(),
            reason: reason.to_owned(),
            value: Some(12.75),
            ratio_ci_high: Some(1234.5),
            ..Record::new()
        }
    }

    type Recovered = (Vec<Record>, Option<Cut>);

    fn recovered(bytes: impl Read) -> Result<Recovered, ReadError> {
        let mut reader = Reader::new("rows.csv", bytes)?;
        let rows = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
        Ok((rows, reader.cut()))
    }

    fn refused(bytes: &[u8]) -> String {
        recovered(bytes).unwrap_err().to_string()
    }

    /// Hands out a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }

    fn three() -> Vec<Record> {
        vec![row("c1", "a quote: \"x\", and ümläut"), row("c2", ""), row("c3", "\"all quoted, ü\"")]
    }

    #[test]
    fn a_whole_file_is_read_whole() {
        let (bytes, ends) = file(&three());
        assert_eq!(recovered(&bytes[..]).unwrap(), (three(), None));
        assert_eq!(recovered(&bytes[..ends[0]]).unwrap(), (vec![], None), "a header alone is whole");
        assert_eq!(recovered(Slow(&bytes, 3)).unwrap(), (three(), None));
    }

    /// Wherever the writer was killed, the rows before are there, none is torn, and the cut is where the rest begins.
    #[test]
    fn a_file_cut_anywhere_gives_its_whole_rows() {
        let (bytes, ends) = file(&three());
        for length in 0..bytes.len() {
            let whole = ends.iter().filter(|end| **end <= length).count();
            if whole == 0 {
                let error = recovered(&bytes[..length]).unwrap_err();
                assert!(
                    error.holds_no_rows() && error.to_string().contains("ends within its header line"),
                    "{length}: {error}"
                );
                continue;
            }
            let whole_bytes = ends[whole - 1];
            let cut = Cut { line: whole as u64 + 1, whole_bytes: whole_bytes as u64 };
            let (rows, found) = recovered(&bytes[..length]).unwrap();
            assert_eq!(rows, three()[..whole - 1], "{length}");
            assert_eq!(found, (length > whole_bytes).then_some(cut), "{length}");
            // Blocks that never reached the disk.
            let padded = [&bytes[..length], &[0; 700]].concat();
            assert_eq!(recovered(&padded[..]).unwrap(), (rows, Some(cut)), "{length}");
        }
    }

    prop_compose! {
        fn records()(texts in prop::collection::vec((any::<String>(), any::<String>(), any::<Option<f64>>()), 1..5)) -> Vec<Record> {
            let record = |(case_id, reason, ratio_ci_high)| Record { case_id, reason, ratio_ci_high, ..Record::new() };
            // As a file gives it back.
            texts.into_iter().map(record).map(|record| crate::record::Packed::new(&record).record()).collect()
        }
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn whatever_rows_hold_none_is_torn(records in records(), cut in any::<prop::sample::Index>(), step in 1_usize..100) {
            let (bytes, ends) = file(&records);
            let length = ends[0] + cut.index(bytes.len() - ends[0] + 1);
            let whole = ends.iter().filter(|end| **end <= length).count();
            let (rows, found) = recovered(Slow(&bytes[..length], step)).unwrap();
            prop_assert_eq!(&rows[..], &records[..whole - 1]);
            prop_assert_eq!(found.map(|cut| cut.whole_bytes), (length > ends[whole - 1]).then_some(ends[whole - 1] as u64));
            // What is left after the cut is a file that can be appended to.
            let kept = found.map_or(length as u64, |cut| cut.whole_bytes);
            let mended = [&bytes[..usize::try_from(kept).unwrap()], &bytes[ends[whole - 1]..]].concat();
            prop_assert_eq!(recovered(&mended[..]).unwrap(), (records, None));
        }
    }

    #[test]
    fn a_row_that_was_torn_before_its_end_is_dropped_only_at_the_end() {
        let (bytes, ends) = file(&three());
        let (head, last) = bytes.split_at(ends[2]);
        for torn in [&b"v2.0,x\n"[..], b"v2.0,\xC3\x28\n", &[b"\0\0\0\0\0\0\0", &last[7..]].concat()] {
            let at_end = [head, torn].concat();
            let cut = Cut { line: 4, whole_bytes: ends[2] as u64 };
            assert_eq!(recovered(&at_end[..]).unwrap(), (three()[..2].to_vec(), Some(cut)));
            let error = refused(&[head, torn, last].concat());
            assert!(error.starts_with("rows.csv, line 4"), "{error}");
            assert!(refused(&[head, torn, b"v2.0"].concat()).starts_with("rows.csv, line 4"), "a second defect");
        }
        // A number that is none was written so.
        let error = refused("schema,case_id,axis_values,time_ns\nv2.0,c1,,1\nv2.0,c2,,inf\n".as_bytes());
        assert_eq!(error, "rows.csv, line 3, column `time_ns`: `inf` is not of type real");
        assert!(
            refused(b"schema,case_id,axis_values\nv3.0,c1,\n").contains("version `v3.0`"),
            "rows of another version are no torn ones"
        );
    }

    #[test]
    fn a_quote_that_is_never_closed_swallows_nothing() {
        let (bytes, ends) = file(&[row("c1", ""), row("c2", ""), row("c3", "")]);
        let torn = [&bytes[..ends[1]], b"v2.0,\"torn", &bytes[ends[1]..]].concat();
        assert!(refused(&torn).contains("a quote that line 3 opens is never closed"), "{}", refused(&torn));
    }

    /// Somebody else's editor may break lines within quotes.
    #[test]
    fn lines_within_quotes_are_one_row() {
        let whole = "schema,case_id,axis_values,note\nv2.0,c1,,\"a\nb\"\n";
        let (rows, cut) = recovered(whole.as_bytes()).unwrap();
        assert_eq!((rows.len(), rows[0].case_id.as_str(), cut), (1, "c1", None));
        let torn = format!("{whole}v2.0,c2,,\"c\n");
        assert!(refused(torn.as_bytes()).contains("never closed"), "no torn row, but none that was seen whole either");
    }

    #[test]
    fn what_is_no_file_of_rows_is_never_taken_for_an_empty_one() {
        let names = Header::new([""; 0]).names().collect::<Vec<_>>().join(",");
        for (bytes, holds_no_rows) in [
            (&b""[..], true),
            (b"\0\0\0\0", true),
            (b"experiment,vari", true),
            (b"experiment,vari\0\0\0", true),
            (b"experiment,axis_values,status,value,no", true),
            (b"experiment,axis_values,status,value,not_one", false),
            (b"experiment,value,no", false),
            (b"value,experiment,st", false),
            (format!("{names},n,local").as_bytes(), true),
            (format!("{names},n\rv2.0,1\r").as_bytes(), false),
            (format!("{names},n;more").as_bytes(), false),
            (b"axis_values,status,case_id,driver_info,device_uuid,driver_uuid,schema,n,o", true),
            (b"axis_values,case_id,driver_info,device_uuid,driver_uuid,schema,n,o", false),
            (b"schema,tool_ver", true),
            (b"schema,tool_version,status,timer", false),
            (format!("{},n,local", v1::COLUMNS.join(",")).as_bytes(), true),
            (v1::COLUMNS.join(",").replace("plan_id,plan_cases,plan_index,", "").as_bytes(), true),
            (b"notes", false),
            (b"notes\nmore\n", false),
            (b"{\"schema\":\"v1.1\"}\n", false),
        ] {
            let error = recovered(bytes).unwrap_err();
            assert_eq!(error.holds_no_rows(), holds_no_rows, "{error}");
        }
        assert_eq!(refused(b"{\"schema\":\"v1.1\"}\n"), "rows.csv: holds JSON lines: rows are read from CSV");
    }
}
