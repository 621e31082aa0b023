//! The columns of one file: the fixed ones, then the axes.

use std::collections::BTreeSet;

use super::cell::Cell;
use super::schema::{COLUMNS, Record, position};

/// Which columns a file has, known before the first row: all fixed ones, then one for each axis of the selected experiments,
/// sorted by name. An axis that bears a fixed column's name is held by that column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    axes: BTreeSet<String>,
}

impl Header {
    /// The header for experiments with these axes; a name may come more than once.
    pub fn new<N: Into<String>>(axes: impl IntoIterator<Item = N>) -> Self {
        Self { axes: axes.into_iter().map(Into::into).filter(|name| position(name).is_none()).collect() }
    }

    /// The names of all columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        COLUMNS.iter().map(|column| column.name).chain(self.axes.iter().map(String::as_str))
    }

    /// The row's values with their columns' names, in order. An axis that the row doesn't have is an empty cell.
    pub fn row<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = (&'a str, Cell<'a>)> {
        let axes = self.axes.iter().map(|name| record.axis_values.get(name).map_or(Cell::Empty, Cell::from));
        self.names().zip(record.fixed_cells().chain(axes))
    }

    /// The row as text, a cell per column.
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
        record.set_axes(&Point::new([("stride".into(), 4_u64.into()), ("pattern".into(), "none".into())]));
        let cells = header.cells(&record);
        assert_eq!(cells.len(), header.names().count());
        assert_eq!(cells[COLUMNS.len()..], ["", "(none)", "4"]);
        assert_eq!(record.axes, "pattern=none;stride=4");
    }
}
