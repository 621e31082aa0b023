//! Reads rows back from CSV, by the names in the header line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use csv::StringRecord;
use thiserror::Error;

use super::cell::Cell;
use super::recover::{Cut, WholeRows};
use super::schema::{self, COLUMNS, Record, SCHEMA_VERSION, Use};
use super::v1;
use crate::model::{AxisValue, Point, Shown};
use crate::regular::{self, ROWS};

/// The most axes that the rows of a file may have: many times those of all experiments. Each is a column of every row that is written.
const MOST_AXES: usize = 1000;

#[derive(Debug, Error)]
#[error("{file}{place}: {problem}")]
pub struct ReadError {
    file: String,
    place: String,
    problem: String,
    holds_no_rows: bool,
}

impl ReadError {
    pub(super) fn of_file(file: String, problem: String) -> Self {
        Self { file, place: String::new(), problem, holds_no_rows: false }
    }

    /// The error of a file that was to hold rows, and was left before it had any.
    pub(super) fn without_rows(file: String, problem: &str) -> Self {
        Self { holds_no_rows: true, ..Self::of_file(file, problem.to_owned()) }
    }

    /// Whether the file was left before its first row: nothing is lost by beginning it anew.
    pub fn holds_no_rows(&self) -> bool {
        self.holds_no_rows
    }
}

fn place(line: Option<u64>, column: Option<&str>) -> String {
    let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
    line + &column.map(|column| format!(", column `{column}`")).unwrap_or_default()
}

/// The major version of the schema whose names the columns of a file bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// 1.0 to 1.3.
    V1,
    /// Today's.
    V2,
}

impl Layout {
    /// That of a file with these columns: the column of all axes has another name in each.
    fn of(names: &StringRecord) -> Self {
        let has = |name: &str| names.iter().any(|own| own == name);
        if has(Self::V1.axes()) && !has(Self::V2.axes()) { Self::V1 } else { Self::V2 }
    }

    fn axes(self) -> &'static str {
        match self {
            Self::V1 => "axes",
            Self::V2 => "axis_values",
        }
    }

    /// The place that one of its fixed columns has today.
    pub(super) fn position(self, name: &str) -> Option<usize> {
        match self {
            Self::V1 => v1::position(name),
            Self::V2 => schema::position(name),
        }
    }

    pub(super) fn names(self) -> Vec<&'static str> {
        match self {
            Self::V1 => v1::COLUMNS.to_vec(),
            Self::V2 => COLUMNS.iter().map(|column| column.name).collect(),
        }
    }

    pub(super) fn may_lack(self, name: &str) -> bool {
        match self {
            Self::V1 => v1::LATER.contains(&name),
            Self::V2 => !schema::needed(&[Use::Any]).contains(&name),
        }
    }

    /// How the version begins that its rows name.
    fn major(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }

    /// Rows of the same major version can be read, whatever their minor version.
    fn check_version(self, version: &str) -> Result<(), String> {
        let major = version.split('.').next().unwrap_or_default();
        if major == self.major() {
            return Ok(());
        }
        let other = match self {
            Self::V1 => Self::V2,
            Self::V2 => Self::V1,
        };
        Err(if major == other.major() {
            format!("version `{version}` in a file whose columns have the names of {}", self.major())
        } else {
            format!("version `{version}` can't be read by this lanescope, which knows {SCHEMA_VERSION} and v1")
        })
    }
}

/// Reads the whole rows of a CSV file, one by one, and knows at the end whether a torn one followed.
///
/// Columns are found by name, in any order: a fixed column that is missing stays empty (an older minor version didn't have it, or it
/// was left out), an unknown one is passed over (a newer minor version, or a user's own) unless the row names an axis like it. Rows of
/// schema 1 say what they would say today.
pub struct Reader<R> {
    file: String,
    layout: Layout,
    names: StringRecord,
    /// Where each fixed column of the file has its place today. The others, by name, are an axis if a row's `axes` names it, else
    /// somebody else's.
    fixed: Vec<(usize, usize)>,
    others: HashMap<String, usize>,
    /// The axes of its rows so far; those of the last row are among them.
    axes: BTreeSet<String>,
    rows: csv::Reader<WholeRows<R>>,
    cells: StringRecord,
    line: u64,
    cut: Option<Cut>,
    has_ended: bool,
}

impl Reader<File> {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = path.shown();
        match regular::open(path, ROWS) {
            Ok(input) => Self::new(file, input),
            Err(error) => Err(ReadError::of_file(file, format!("can't be opened: {error}"))),
        }
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header line; `file` is what errors call the input.
    /// Errors: where the input can't be read, a column comes twice, or it isn't a file of rows at all; and where it ends within the header
    /// line, which [`ReadError::holds_no_rows`] tells apart.
    pub fn new(file: impl Into<String>, input: R) -> Result<Self, ReadError> {
        let file = file.into();
        let mut csv = csv::Reader::from_reader(WholeRows::begin(&file, input)?);
        let names = csv.headers().cloned().map_err(|error| csv_error(&file, &error))?;
        let wrong = |column: &str, problem: &str| ReadError {
            file: file.clone(),
            place: place(Some(1), Some(column)),
            problem: problem.to_owned(),
            holds_no_rows: false,
        };
        if names.get(0).is_some_and(|name| name.starts_with('{')) {
            return Err(ReadError::of_file(file, "holds JSON lines: rows are read from CSV".to_owned()));
        }
        if let Some(mark) = [';', '\t'].into_iter().find(|mark| names.len() == 1 && names[0].contains(*mark)) {
            let mark = if mark == ';' { "semicolons" } else { "tabs" };
            return Err(ReadError::of_file(file, format!("its cells are parted by {mark}: save it with commas")));
        }
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(wrong(name, "comes twice"));
        }
        let layout = Layout::of(&names);
        if let Some(missing) = ["schema", "case_id", layout.axes()].into_iter().find(|name| !names.iter().any(|n| n == *name)) {
            return Err(wrong(missing, "is missing: this is not a file that lanescope wrote"));
        }
        let (mut fixed, mut others) = (Vec::new(), HashMap::new());
        for (cell, name) in names.iter().enumerate() {
            match layout.position(name) {
                Some(place) => fixed.push((cell, place)),
                None => drop(others.insert(name.to_owned(), cell)),
            }
        }
        let (axes, cells) = (BTreeSet::new(), StringRecord::new());
        Ok(Self { file, layout, names, fixed, others, axes, rows: csv, cells, line: 1, cut: None, has_ended: false })
    }

    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.names.iter()
    }

    /// Whether its columns have the names of schema 1.
    pub fn is_of_v1(&self) -> bool {
        self.layout == Layout::V1
    }

    /// Those of these columns, by the names that they have today, that the file lacks though its version of the schema has them.
    pub fn missing(&self, needed: &[&'static str]) -> Vec<&'static str> {
        let is_there = |name: &str| self.fixed.iter().any(|(_, place)| COLUMNS[*place].name == name);
        let came_later = |name: &str| self.layout == Layout::V1 && v1::LATER.contains(&name);
        needed.iter().copied().filter(|name| !is_there(name) && !came_later(name)).collect()
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    /// What was dropped at the end, once every row was given.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// Reads the cells of the next row; nothing where there is none.
    fn next_cells(&mut self) -> Option<csv::Result<()>> {
        let row = match self.rows.read_record(&mut self.cells) {
            Ok(false) => return None,
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        let position = row.as_ref().map_or_else(csv::Error::position, |()| self.cells.position());
        self.line = position.map_or(self.line, |position| self.beginning(position).0);
        Some(row)
    }

    /// Reads the next row over an earlier one of this file, whose memory is used again. Nothing behind the last; what a row holds then,
    /// or after an error, is no row.
    pub fn next_into(&mut self, record: &mut Record) -> Option<Result<(), ReadError>> {
        if self.has_ended {
            return None;
        }
        let row = self.next_row(record);
        // What follows an error was read to judge it.
        self.has_ended = !matches!(row, Some(Ok(())));
        row
    }

    /// The next row as it is, or why it has none of its own.
    fn next_row(&mut self, record: &mut Record) -> Option<Result<(), ReadError>> {
        let Some(row) = self.next_cells() else {
            self.cut = self.input().cut();
            return None;
        };
        let (position, error) = match row {
            Ok(()) if !self.cells.as_slice().contains('\0') => return Some(self.read_cells(record)),
            Ok(()) => (self.cells.position().cloned(), self.error(self.cells.position(), "the row holds zero bytes")),
            Err(error) if matches!(error.kind(), csv::ErrorKind::Io(_)) => return Some(Err(self.csv_error(&error))),
            Err(error) => (error.position().cloned(), self.csv_error(&error)),
        };
        match (self.next_cells(), self.input().cut(), position) {
            (None, None, Some(position)) => {
                let (line, whole_bytes) = self.beginning(&position);
                self.cut = Some(Cut { line, whole_bytes });
                None
            }
            _ => Some(Err(error)),
        }
    }

    fn input(&self) -> &WholeRows<R> {
        self.rows.get_ref()
    }

    /// The line and the byte at which a row begins. Of two bytes that end a line, the CSV reader counts the second one to the row behind.
    fn beginning(&self, position: &csv::Position) -> (u64, u64) {
        let left_over = u64::from(position.byte() > 0 && self.input().has_two_ends());
        (position.line() + left_over, position.byte() + left_over)
    }

    fn error(&self, position: Option<&csv::Position>, problem: &str) -> ReadError {
        let place = place(position.map(|position| self.beginning(position).0), None);
        ReadError { place, ..ReadError::of_file(self.file.clone(), problem.to_owned()) }
    }

    fn csv_error(&self, error: &csv::Error) -> ReadError {
        let line = error.position().map(|position| self.beginning(position).0);
        ReadError { place: place(line, None), ..csv_error(&self.file, error) }
    }

    fn read_cells(&mut self, record: &mut Record) -> Result<(), ReadError> {
        let wrong = |column: &str, problem: String| ReadError {
            file: self.file.clone(),
            place: place(self.cells.position().map(|position| self.beginning(position).0), Some(column)),
            problem,
            holds_no_rows: false,
        };
        if self.layout == Layout::V1 {
            // An earlier row was renewed, also where the file has no column.
            *record = Record::default();
        }
        let fields = record.fields_mut();
        for (cell, place) in &self.fixed {
            let text = &self.cells[*cell];
            if !fields[*place].read(text) {
                let (name, kind) = (&self.names[*cell], COLUMNS[*place].kind);
                return Err(wrong(name, format!("`{text}` is not of type {}{}", kind.as_str(), of_spreadsheet(text))));
            }
        }
        self.layout.check_version(&record.schema).map_err(|problem| wrong("schema", problem))?;
        let are_as_before = read_axes(&record.axis_values, &mut record.by_axis);
        let are_as_before = are_as_before.map_err(|problem| wrong(self.layout.axes(), problem))?;
        for (name, value) in &record.by_axis {
            let text = self.others.get(name).map(|cell| &self.cells[*cell]);
            if let Some(text) = text.filter(|text| !shows(value, text)) {
                let (axes, all) = (self.layout.axes(), &record.axis_values);
                let hint = of_spreadsheet(text);
                return Err(wrong(name, format!("`{text}` contradicts the column `{axes}`: {all}{hint}")));
            }
        }
        let names = record.by_axis.keys().filter(|_| !are_as_before);
        let fresh: Vec<&String> = names.filter(|name| !self.axes.contains(*name)).collect();
        if self.axes.len() + fresh.len() > MOST_AXES {
            let problem = format!("the rows so far have more than {MOST_AXES} axes, which no file of lanescope's has");
            return Err(self.error(self.cells.position(), &problem));
        }
        self.axes.extend(fresh.into_iter().cloned());
        if self.layout == Layout::V1 {
            v1::renew(record);
        }
        Ok(())
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = Record::default();
        self.next_into(&mut record).map(|row| row.map(|()| record))
    }
}

/// Whether a cell shows what it is to show.
fn shows(value: &AxisValue, text: &str) -> bool {
    match value {
        AxisValue::Integer(number) => whole_number(text) == Some(*number),
        AxisValue::Choice(_) => match Cell::from(value) {
            Cell::Text(shown) => shown == text,
            other => other.to_string() == text,
        },
    }
}

/// The number that a text is, as it would be written.
fn whole_number(text: &str) -> Option<u64> {
    let is_plain = !text.starts_with('+') && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// Reads the inverse of a point's canonical form, and of no other, over the axes of an earlier row: what is read is written as it was.
/// A value of decimal digits is a number: no axis of words has such a word. Tells whether they have the names that they had.
pub(super) fn read_axes(text: &str, axes: &mut BTreeMap<String, AxisValue>) -> Result<bool, String> {
    match read_plain_axes(text, axes) {
        Some(are_as_before) => Ok(are_as_before),
        None => {
            *axes = parse_axes(text)?;
            Ok(false)
        }
    }
}

/// The same of a text that shows by itself that it is in that form, as nearly all do; nothing where it has to be looked at. Most rows have
/// the axes of the one before, and little of them changes.
fn read_plain_axes(text: &str, axes: &mut BTreeMap<String, AxisValue>) -> Option<bool> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    let pairs = || text.split(';').filter(|_| !text.is_empty()).map(|pair| pair.split_once('='));
    let mut before = "";
    for pair in pairs() {
        let (name, value) = pair.filter(|(name, _)| is_plain && *name > before)?;
        if whole_number(value).is_none() && value.parse::<u64>().is_ok() {
            return None;
        }
        before = name;
    }
    let are_as_before = axes.keys().map(String::as_str).eq(pairs().flatten().map(|(name, _)| name));
    if !are_as_before {
        let name = |pair: Option<(&str, &str)>| Some((pair?.0.to_owned(), AxisValue::Integer(0)));
        *axes = pairs().map(name).collect::<Option<_>>()?;
    }
    for (own, (_, value)) in axes.values_mut().zip(pairs().flatten()) {
        match (whole_number(value), &own) {
            (Some(number), _) => *own = AxisValue::Integer(number),
            (None, AxisValue::Choice(word)) if word == value => {}
            (None, _) => *own = AxisValue::Choice(value.to_owned().into()),
        }
    }
    Some(are_as_before)
}

fn parse_axes(axes: &str) -> Result<BTreeMap<String, AxisValue>, String> {
    let mut values = BTreeMap::new();
    for pair in axes.split(';').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` is not of the form name=value"))?;
        let value = value.parse().map_or_else(|_| AxisValue::Choice(value.to_owned().into()), AxisValue::Integer);
        if values.insert(name.to_owned(), value).is_some() {
            return Err(format!("`{name}` comes twice"));
        }
    }
    let canonical = Point::new(values.iter().map(|(name, value)| (name.clone().into(), value.clone()))).to_string();
    if Cell::text(&canonical).to_string() != axes || values.contains_key("") {
        return Err(format!("`{axes}` is not of the form name=value;name=value, sorted by name"));
    }
    Ok(values)
}

/// What a spreadsheet did to a cell, where that is plain: no row holds a number with an exponent, or a formula.
fn of_spreadsheet(text: &str) -> &'static str {
    match text {
        _ if text.starts_with('=') => ": a formula; save its value",
        _ if text.contains(['e', 'E']) && text.parse::<f64>().is_ok_and(f64::is_finite) => {
            ": a spreadsheet has rounded it; give the file as lanescope wrote it"
        }
        _ => "",
    }
}

fn csv_error(file: &str, error: &csv::Error) -> ReadError {
    let line = error.position().map(csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the row has {len} cells, the header {expected_len}; was the file cut off?")
        }
        csv::ErrorKind::Utf8 { .. } => "this is not UTF-8".to_owned(),
        csv::ErrorKind::Io(error) => format!("can't be read: {error}"),
        _ => error.to_string(),
    };
    ReadError { place: place(line, None), ..ReadError::of_file(file.to_owned(), problem) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Record>, String> {
        let reader = Reader::new("rows.csv", text.as_bytes()).map_err(|error| error.to_string())?;
        reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    #[test]
    fn columns_are_found_by_name() {
        let records = read("time_ns,note,axis_values,n,schema,case_id\n2.5,mine,n=8;op=copy,8,v2.7,c1\n,,,,v2.0,c2\n").unwrap();
        assert_eq!((records[0].time_ns, records[0].case_id.as_str()), (Some(2.5), "c1"));
        assert_eq!(records[0].by_axis["n"], AxisValue::Integer(8));
        assert_eq!(records[0].by_axis["op"], AxisValue::Choice("copy".into()));
        assert_eq!((records[1].time_ns, records[1].by_axis.len()), (None, 0));
    }

    #[test]
    fn rows_of_schema_1_say_what_they_would_say_today() {
        let text = "axes,case_id,flags,timestamp,bytes,environment,status,reason,written_at,schema\n\
                    n=8;written_at=3,c1,noisy,2026,64,VK_DRIVER_FILES=/home/ann/a.json,ok,,3,v1.0\n\
                    n=8,c2,,,,,error,not run: crashed: signal 11,,v1.3\n";
        let records = read(text).unwrap();
        let expected = Record {
            axis_values: "n=8;written_at=3".to_owned(),
            case_id: "c1".to_owned(),
            quality_flags: "noisy".to_owned(),
            written_at: "2026".to_owned(),
            bytes_per_pass: Some(64),
            environment: "VK_DRIVER_FILES=a.json".to_owned(),
            status: "ok".to_owned(),
            schema: "v2.4".to_owned(),
            by_axis: BTreeMap::from([("n", 8), ("written_at", 3)].map(|(axis, n)| (axis.to_owned(), AxisValue::Integer(n)))),
            ..Record::default()
        };
        assert_eq!(records[0], expected, "a name that is a column's only now was an axis's");
        assert_eq!((records[1].status.as_str(), records[1].reason.as_str()), ("not_run", "crashed: signal 11"));
    }

    fn any_axes() -> impl Strategy<Value = String> {
        let pair = ("[a-c=]{0,2}", "[0-9]{0,3}|\\+1|[a-c;= \t]{1,3}|18446744073709551616");
        prop::collection::vec(pair.prop_map(|(name, value)| format!("{name}={value}")), 0..4).prop_map(|pairs| pairs.join(";"))
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        /// What is read over the axes of another row is what is read alone, and nothing is read that would be written otherwise.
        #[test]
        fn no_axes_are_left_of_the_row_before(texts in prop::collection::vec(any_axes(), 1..4)) {
            let mut axes = BTreeMap::new();
            for text in texts {
                let (alone, before) = (parse_axes(&text), axes.clone());
                match read_axes(&text, &mut axes) {
                    Ok(are_as_before) => {
                        prop_assert_eq!(Ok(&axes), alone.as_ref());
                        prop_assert!(!are_as_before || axes.keys().eq(before.keys()));
                    }
                    Err(why) => prop_assert_eq!(Err(why), alone),
                }
            }
        }
    }

    /// Whatever a row lacks is empty, though the one before had it.
    #[test]
    fn a_row_has_nothing_of_the_one_before() {
        let text =
            "schema,case_id,axis_values,value,reason,n\nv2.0,c1,n=8;op=copy,1.5,why,8\nv2.0,c2,,,,\nv2.0,c3,m=1;n=9,,,9\n";
        let alone = read(text).unwrap();
        let (mut reader, mut record) = (Reader::new("rows.csv", text.as_bytes()).unwrap(), Record::default());
        for expected in &alone {
            reader.next_into(&mut record).unwrap().unwrap();
            assert_eq!(&record, expected);
        }
        assert!(reader.next_into(&mut record).is_none() && alone[1].value.is_none() && alone[1].by_axis.is_empty());
    }

    #[test]
    fn what_a_file_lacks_is_told_by_its_version() {
        let lacks = |header: &str| Reader::new("rows.csv", header.as_bytes()).unwrap().missing(&["status", "plan_id", "value"]);
        assert_eq!(lacks("schema,case_id,axis_values,status\n"), ["plan_id", "value"]);
        assert_eq!(lacks("schema,case_id,axes,status\n"), ["value"], "version 1.0 had no plans");
    }

    #[test]
    fn lines_are_counted_however_they_end() {
        for ends in ["\n", "\r\n"] {
            let text = "schema,case_id,axis_values,time_ns|v2.0,c1,,1|v2.0,c2,,2|v2.0,c3,,inf|".replace('|', ends);
            let mut reader = Reader::new("rows.csv", text.as_bytes()).unwrap();
            assert_eq!((reader.next().unwrap().unwrap().case_id.as_str(), reader.line()), ("c1", 2));
            assert!(reader.next().is_some() && reader.line() == 3);
            assert!(reader.next().unwrap().unwrap_err().to_string().starts_with("rows.csv, line 4, column `time_ns`"));
            let short = "schema,case_id,axis_values|v2.0,c1,|v2.0|v2.0,c2,|".replace('|', ends);
            assert!(read(&short).unwrap_err().starts_with("rows.csv, line 3: the row has 1 cells"));
        }
    }

    #[test]
    fn errors_name_file_line_and_column() {
        let error = |text: &str| read(text).unwrap_err();
        insta::assert_snapshot!(error("schema,case_id,axis_values,time_ns\nv2.0,c1,,1\nv2.0,c2,,inf\n"), @"rows.csv, line 3, column `time_ns`: `inf` is not of type real");
        insta::assert_snapshot!(error("schema,case_id,axis_values,n\nv2.0,c1,n=8,9\n"), @"rows.csv, line 2, column `n`: `9` contradicts the column `axis_values`: n=8");
        insta::assert_snapshot!(error("schema,case_id,axis_values,n\nv2.0,c1,n=274877906944,2.74878E+11\n"), @"rows.csv, line 2, column `n`: `2.74878E+11` contradicts the column `axis_values`: n=274877906944: a spreadsheet has rounded it; give the file as lanescope wrote it");
        insta::assert_snapshot!(error("schema,case_id,axis_values,samples\nv2.0,c1,,=A1*2\n"), @"rows.csv, line 2, column `samples`: `=A1*2` is not of type integer: a formula; save its value");
        insta::assert_snapshot!(error("schema;case_id;axis_values\nv2.0;c1;\n"), @"rows.csv: its cells are parted by semicolons: save it with commas");
        insta::assert_snapshot!(error("schema,case_id,axis_values\nv2.0,c1,n\n"), @"rows.csv, line 2, column `axis_values`: `n` is not of the form name=value");
        insta::assert_snapshot!(error("schema,case_id,axis_values\nv2.0,c1,n=8;n=9\n"), @"rows.csv, line 2, column `axis_values`: `n` comes twice");
        insta::assert_snapshot!(error("schema,case_id,axis_values\nv2.0,c1,n=8;m=9\n"), @"rows.csv, line 2, column `axis_values`: `n=8;m=9` is not of the form name=value;name=value, sorted by name");
        insta::assert_snapshot!(error("schema,case_id,axis_values\nv3.0,c1,\n"), @"rows.csv, line 2, column `schema`: version `v3.0` can't be read by this lanescope, which knows v2.4 and v1");
        insta::assert_snapshot!(error("schema,case_id,axes\nv2.0,c1,\n"), @"rows.csv, line 2, column `schema`: version `v2.0` in a file whose columns have the names of v1");
        insta::assert_snapshot!(error("schema,case_id,axis_values\nv1.3,c1,\n"), @"rows.csv, line 2, column `schema`: version `v1.3` in a file whose columns have the names of v2");
        insta::assert_snapshot!(error("schema,case_id,axes,bytes\nv1.0,c1,,x\n"), @"rows.csv, line 2, column `bytes`: `x` is not of type integer");
        insta::assert_snapshot!(error("schema,case_id,axis_values\nv2.0,c1,\nv2.0\nv2.0,c2,\n"), @"rows.csv, line 3: the row has 1 cells, the header 3; was the file cut off?");
        insta::assert_snapshot!(error("schema,case_id,axis_values,axis_values\n"), @"rows.csv, line 1, column `axis_values`: comes twice");
        insta::assert_snapshot!(error("a,b\n1,2\n"), @"rows.csv, line 1, column `schema`: is missing: this is not a file that lanescope wrote");
        for axes in ["n=08", "n=+8", "n=8;", " n=8", "n=8 ", "=8", "\"n\n=8\""] {
            assert!(error(&format!("schema,case_id,axis_values\nv2.0,c1,{axes}\n")).contains("is not of the form"), "{axes}");
        }
        assert!(
            Reader::open(Path::new("no/such.csv"))
                .is_err_and(|error| error.to_string().starts_with("no/such.csv: can't be opened"))
        );
    }
}
