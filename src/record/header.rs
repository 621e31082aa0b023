//! The columns of one file: the fixed ones, then the axes.

use std::collections::BTreeSet;

use super::cell::Cell;
use super::schema::{COLUMNS, Record, Use, position};
use super::v1;
use crate::error::{Error, nearest};

/// Which columns a file has, known before the first row: all fixed ones or those that were chosen, then one for each axis of the
/// selected experiments, sorted by name. An axis that bears a fixed column's name is held by that column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    fixed: Vec<usize>,
    axes: BTreeSet<String>,
}

impl Header {
    /// The header for experiments with these axes; a name may come more than once.
    pub fn new<N: Into<String>>(axes: impl IntoIterator<Item = N>) -> Self {
        let axes = axes.into_iter().map(Into::into).filter(|name| position(name).is_none()).collect();
        Self { fixed: (0..COLUMNS.len()).collect(), axes }
    }

    /// The same with these fixed columns alone, in their usual order, and those that every file has. Where none is named, all of them.
    pub fn choosing(mut self, names: &[String]) -> Result<Self, Error> {
        let names: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|name| position(name).is_none() && !self.axes.contains(**name)) {
            let today = v1::position(unknown).map(|place| COLUMNS[place].name.to_owned());
            let nearest = today.map_or_else(|| nearest(unknown, self.names()), |today| vec![today]);
            return Err(Error::Unknown { what: "column", given: (*unknown).clone(), nearest });
        }
        if !names.is_empty() {
            let is_chosen = |name: &str| names.iter().any(|chosen| *chosen == name);
            self.fixed.retain(|place| COLUMNS[*place].is_for(&[Use::Any]) || is_chosen(COLUMNS[*place].name));
        }
        Ok(self)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fixed.iter().map(|place| COLUMNS[*place].name).chain(self.axes.iter().map(String::as_str))
    }

    /// The row's values with their columns' names, in order. An axis that the row doesn't have is an empty cell.
    pub fn row<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = (&'a str, Cell<'a>)> {
        let fields = record.fields();
        let fixed = self.fixed.iter().map(move |place| fields[*place].cell());
        let axes = self.axes.iter().map(|name| record.by_axis.get(name).map_or(Cell::Empty, Cell::from));
        self.names().zip(fixed.chain(axes))
    }

    pub fn cells(&self, record: &Record) -> Vec<String> {
        self.row(record).map(|(_, cell)| cell.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Point;

    #[test]
    fn axes_come_last_sorted_once_each() {
        let header = Header::new(["stride", "local_size_x", "n", "stride"]);
        assert_eq!(header.names().skip(COLUMNS.len()).collect::<Vec<_>>(), ["n", "stride"]);
        assert_eq!(header.names().filter(|name| *name == "local_size_x").count(), 1);
    }

    #[test]
    fn a_row_has_a_cell_for_every_column() {
        let header = Header::new(["stride", "pattern", "n"]);
        let mut record = Record::new();
        record = record.at(&Point::new([("stride".into(), 4_u64.into()), ("pattern".into(), "none".into())]));
        let cells = header.cells(&record);
        assert_eq!(cells.len(), header.names().count());
        assert_eq!(cells[COLUMNS.len()..], ["", "(none)", "4"]);
        assert_eq!(record.axis_values, "pattern=none;stride=4");
    }

    #[test]
    fn columns_can_be_chosen_but_for_those_that_every_file_has() {
        let choose =
            |names: &[&str]| Header::new(["n"]).choosing(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(choose(&[]).unwrap(), Header::new(["n"]));
        let header = choose(&["host", "n", "value", "status"]).unwrap();
        let names: Vec<&str> = header.names().collect();
        let expected =
            ["axis_values", "status", "value", "case_id", "driver_info", "device_uuid", "driver_uuid", "host", "schema", "n"];
        assert_eq!(names, expected);
        let mut record = Record { value: Some(2.5), host: "here".to_owned(), ..Record::new() };
        record = record.at(&Point::new([("n".into(), 4_u64.into())]));
        assert_eq!(header.cells(&record), ["n=4", "", "2.5", "", "", "", "", "here", "v2.4", "4"]);
        assert_eq!(choose(&["value", ""]).unwrap(), choose(&["value"]).unwrap());
        insta::assert_snapshot!(choose(&["flags"]).unwrap_err(), @"unknown column `flags`; did you mean quality_flags?");
        insta::assert_snapshot!(choose(&["valeu"]).unwrap_err(), @"unknown column `valeu`; did you mean value?");
    }
}
