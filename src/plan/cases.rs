//! `run --cases FILE`: the cases that a file lists, as a plan of their own or as a part of one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use super::{Listed, Plan, Unlisted};
use crate::error::Error;
use crate::experiments::Setting;
use crate::model::{Cache, Shown};
use crate::regular::{self, CASES};

/// The columns that count in a CSV file.
const CASE: &str = "case_id";
const EXPERIMENT: &str = "experiment";
const VARIANT: &str = "variant";
const AXES: &str = "axis_values";
const KIND: &str = "row_kind";

/// How a row begins that is no case.
const DERIVED: &str = "derived";

const MOST_NAMED: usize = 5;

pub struct Cases {
    file: String,
    /// By their ids, with as much as the file tells of each.
    listed: BTreeMap<String, Named>,
    are_rows: bool,
}

#[derive(Clone, Debug, Default)]
struct Named {
    case: Listed,
    line: u64,
}

impl Cases {
    /// Reads a file: CSV with a column `case_id`, or an id on each line; blank lines and those that begin with `#` are passed over.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = path.shown();
        let usage = |words: String| Error::Usage(format!("--cases: {file}: {words}"));
        let text = regular::read_text(path, CASES).map_err(|error| usage(error.to_string()))?;
        let first = text.lines().next().unwrap_or_default();
        let has = |column: &str| first.split(',').any(|name| name.trim() == column);
        let listed = if has(CASE) { of_rows(&text) } else { of_lines(&text) }.map_err(usage)?;
        if listed.is_empty() {
            return Err(usage("it lists no case".to_owned()));
        }
        Ok(Self { file, listed, are_rows: [CASE, EXPERIMENT, VARIANT, AXES].into_iter().all(has) })
    }

    pub fn ids(&self) -> HashSet<String> {
        self.listed.keys().cloned().collect()
    }

    /// Whether the file tells enough of them to make them without filters and axes.
    pub fn are_rows(&self) -> bool {
        self.are_rows
    }

    pub fn plan<'a>(&self, cache: Cache, setting: Setting<'a>) -> Result<Plan<'a>, Error> {
        let cases: Vec<Listed> = self.listed.values().map(|named| named.case.clone()).collect();
        Plan::of_cases(&cases, cache, setting).map_err(|unlisted| self.refused(&unlisted))
    }

    /// The first in the file stands for all.
    fn refused(&self, unlisted: &[Unlisted]) -> Error {
        let all: Vec<&Named> = self.listed.values().collect();
        let first = unlisted.iter().min_by_key(|unlisted| all[unlisted.place].line);
        let Some(Unlisted { place, why }) = first else { return Error::Usage(format!("--cases: {}", self.file)) };
        let Named { case: Listed { experiment, variant, axis_values, .. }, line } = all[*place];
        let parts = [experiment, variant, axis_values].into_iter().filter(|part| !part.is_empty());
        let name = parts.map(String::as_str).collect::<Vec<_>>().join(" ");
        let more = match unlisted.len() {
            1 => String::new(),
            count => format!(" ({count} of {} rows can't be measured)", all.len()),
        };
        Error::Usage(format!("--cases: {}, line {line}: {name} {why}{more}", self.file))
    }

    pub fn check(&self, plans: &[Plan]) -> Result<(), Error> {
        let there: HashSet<String> = plans.iter().flat_map(Plan::iter).map(|planned| planned.case_id).collect();
        let missing: Vec<(&String, &Named)> = self.listed.iter().filter(|(id, _)| !there.contains(*id)).collect();
        let Some((first, _)) = missing.first() else { return Ok(()) };
        let experiments: BTreeSet<&str> =
            missing.iter().map(|(_, named)| named.case.experiment.as_str()).filter(|name| !name.is_empty()).collect();
        let mut named = experiments.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
        if experiments.len() > MOST_NAMED {
            named.push_str(", ...");
        }
        let named = if named.is_empty() { named } else { format!(" (of {named})") };
        let (file, count, all) = (&self.file, missing.len(), self.listed.len());
        let or = match self.are_rows {
            true => "or no filter and no axis, and they are measured whichever run they are from".to_owned(),
            false => {
                format!("or list them as rows, with the columns {EXPERIMENT}, {VARIANT} and {AXES}, without filters and axes")
            }
        };
        Err(Error::Usage(format!(
            "--cases: {file}: {count} of {all} cases{named} are none of this run's, {first} for one: give the filters, axes, preset and \
             --cold of the run that they are from, {or}"
        )))
    }
}

fn of_rows(text: &str) -> Result<BTreeMap<String, Named>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let place = |name: &str| header.iter().position(|column| column.trim() == name);
    let [case, experiment, variant, axes, kind] = [CASE, EXPERIMENT, VARIANT, AXES, KIND].map(place);
    let mut listed = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        let cell = |place: Option<usize>| place.and_then(|place| row.get(place)).unwrap_or_default().trim().to_owned();
        if cell(kind) != DERIVED && !cell(case).is_empty() {
            let line = row.position().map_or(0, csv::Position::line);
            let [case_id, experiment, variant, axis_values] = [case, experiment, variant, axes].map(cell);
            let case = Listed { case_id: case_id.clone(), experiment, variant, axis_values };
            // Several devices have the same cases.
            listed.entry(case_id).or_insert(Named { case, line });
        }
    }
    Ok(listed)
}

fn of_lines(text: &str) -> Result<BTreeMap<String, Named>, String> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let listed = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let id = |(number, line): (usize, &str)| {
        let is_id =
            line.strip_prefix('c').is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match is_id {
            true => Ok((line.to_owned(), Named::default())),
            false => Err(format!(
                "line {number}: `{line}` is no case_id (such as c0123456789abcdef), and the file has no column {CASE}"
            )),
        }
    };
    listed.map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Cases::read(file.path()).map(|cases| cases.listed.into_keys().collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn ids_come_by_line_or_by_column() {
        let id = "c0123456789abcdef";
        assert_eq!(read(&format!("# suspects\n\n {id} \r\n{id}\n")).unwrap(), [id]);
        let rows = format!("row_kind,note,case_id\nmeasured,\"a, b\",{id}\nderived,,c2\nmeasured,,\n");
        assert_eq!(read(&rows).unwrap(), [id]);
    }

    #[test]
    fn what_is_no_list_is_told() {
        assert!(read("# nothing\n").unwrap_err().contains("it lists no case"));
        assert!(read("case_id,value\n").unwrap_err().contains("it lists no case"));
        assert!(read("c0123456789abcdef\nmemory/stream\n").unwrap_err().contains("line 2: `memory/stream` is no case_id"));
        assert!(Cases::read(Path::new("no/such")).is_err());
    }
}
