//! One file of rows, or standard input: opened, checked and read once, row by row.

use std::io::{self, Read};
use std::path::Path;

use super::super::words::listed;
use crate::error::Error;
use crate::experiments;
use crate::model::Shown;
use crate::platform;
use crate::record::{ReadError, Reader, Record, SCHEMA_VERSION, Use, needed};
use crate::regular::{self, ROWS};

/// Columns of words of which newer versions may have more.
const WORDS: [&str; 3] = ["status", "row_kind", "better"];

/// What rows are read for: that decides which columns they can't be without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To become one file: a row that was cut is to be measured first.
    Merging,
    /// The same, whatever is missing.
    MergingPart,
    Card,
    Report,
    Comparison,
}

impl Purpose {
    fn lacking<R: Read>(self, reader: &Reader<R>) -> Vec<&'static str> {
        let uses: &[Use] = match self {
            Self::Merging | Self::MergingPart => &[Use::Rows],
            Self::Card | Self::Report => &[Use::Rows, Use::Card],
            Self::Comparison => &[Use::Comparison],
        };
        let mut lacking = reader.missing(&needed(uses));
        // Of the columns that tell how far a figure may be off, one way is enough.
        if self == Self::Comparison && !reader.missing(&["round_medians_ns"]).is_empty() {
            lacking.extend(reader.missing(&["ci_low_ns", "ci_high_ns"]));
        }
        lacking
    }

    fn refused(self) -> &'static str {
        match self {
            Self::Merging | Self::MergingPart => "rows can't be merged without",
            Self::Report => "there is no page without",
            Self::Card => "there is no card without",
            Self::Comparison => "rows can't be compared without",
        }
    }
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// What messages call it.
pub fn input_name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.shown() }
}

/// A file's name without its folders.
pub fn short_name(path: &Path) -> String {
    if is_standard_input(path) { input_name(path) } else { Path::new(path.file_name().unwrap_or(path.as_os_str())).shown() }
}

/// Reads a file, standard input for `-`, and gives each of its rows with the line on which it begins. What it gives
/// back is to be said of the file: that its last row was cut, and that a newer version wrote it.
/// Errors: a file that can't be opened or isn't one of rows; one that lacks columns that one of the purposes needs; a row that can't be
/// read, or contradicts itself; and whatever the taker refuses.
pub fn read_rows(
    path: &Path,
    purposes: &[Purpose],
    take: &mut dyn FnMut(&mut Record, u64) -> Result<(), Error>,
) -> Result<Vec<String>, Error> {
    let usage = |error: ReadError| Error::Usage(error.to_string());
    let name = input_name(path);
    let input: Box<dyn Read> = if is_standard_input(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(regular::open(path, ROWS).map_err(|error| Error::Usage(format!("{name}: can't be opened: {error}")))?)
    };
    let mut reader = Reader::new(name.as_str(), input).map_err(usage)?;
    for purpose in purposes {
        let lacking = purpose.lacking(&reader);
        if !lacking.is_empty() {
            let (lacking, refused) = (listed(lacking), purpose.refused());
            return Err(Error::Usage(format!("{name} lacks {lacking}: {refused}; were they left out by --columns?")));
        }
    }
    let (mut record, mut newest) = (Record::default(), None);
    while let Some(row) = reader.next_into(&mut record) {
        row.map_err(usage)?;
        let of_row = version(&record.schema);
        newest = newest.max(Some(of_row));
        // A newer version has words that this one doesn't know.
        let is_new_word = |column: &str| of_row > version(SCHEMA_VERSION) && WORDS.contains(&column);
        if let Some((column, why)) = record.contradiction().filter(|(column, _)| !is_new_word(column)) {
            let line = reader.line();
            return Err(Error::Usage(format!(
                "{name}, line {line}, column `{column}`: {why}; no run wrote this row: mend it, or take it out"
            )));
        }
        if record.is_derived() && experiments::find(&record.experiment).is_some() {
            let (line, name_of) = (reader.line(), &record.experiment);
            return Err(Error::Usage(format!(
                "{name}, line {line}, column `row_kind`: {name_of} is measured, and no run derives it: mend this row, or take it out"
            )));
        }
        take(&mut record, reader.line())?;
    }
    if newest.is_none() && reader.cut().is_none() && purposes.contains(&Purpose::Comparison) {
        return Err(Error::Usage(format!("{name} holds no rows")));
    }
    if let Some(cut) = reader.cut().filter(|_| purposes.contains(&Purpose::Merging)) {
        let mend = if reader.is_of_v1() || is_standard_input(path) || platform::is_own_stream(path) {
            "--partial leaves it out".to_owned()
        } else {
            format!("finish it by `lanescope run` as before, with --resume {name}, or leave it out by --partial")
        };
        return Err(Error::Usage(format!("{name}: {cut}: {mend}")));
    }
    let torn = reader.cut().map(|cut| format!("{name}: {cut} and is left out"));
    let newer = newest.filter(|newest| *newest > version(SCHEMA_VERSION)).map(|(major, minor)| {
        format!(
            "{name} was written by a newer lanescope (schema v{major}.{minor}): columns beyond {SCHEMA_VERSION} are left out"
        )
    });
    Ok(torn.into_iter().chain(newer).collect())
}

/// The major and the minor version; zero where there is no number.
fn version(schema: &str) -> (u64, u64) {
    let (major, minor) = schema.trim_start_matches('v').split_once('.').unwrap_or_default();
    (major.parse().unwrap_or_default(), minor.parse().unwrap_or_default())
}
