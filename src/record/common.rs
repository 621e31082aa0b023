//! What rows have in common.

use super::schema::{COLUMNS, Column, Record};

/// Columns outside the group `identity` that are the same in all rows of a run on one device.
const OF_RUNS: [&str; 5] = ["validation", "robustness", "seed", "plan_id", "plan_cases"];

/// What makes two rows of a case two measurements.
const FIGURES: [&str; 5] = ["status", "value", "time_ns", "run_id", "quality_flags"];

fn is_of_run(column: &Column) -> bool {
    column.group == "identity" || OF_RUNS.contains(&column.name)
}

impl Record {
    /// A row with the columns that all rows of a run on one device share, and with its timestamp; the others are empty.
    pub fn of_run(&self) -> Self {
        let mut record = self.clone();
        record.by_axis.clear();
        record.empty(|place| !is_of_run(&COLUMNS[place]));
        record
    }

    pub fn keep_common(&mut self, other: &Self) {
        let differs: Vec<bool> =
            self.fields().into_iter().zip(other.fields()).map(|(own, other)| own.cell() != other.cell()).collect();
        self.empty(|place| differs[place]);
    }

    /// Empties the columns that another row leaves empty, but for figures: a row without one is no copy of a row with one.
    pub(super) fn keep_known(&mut self, other: &Self) {
        let is_empty: Vec<bool> = other.fields().into_iter().map(|field| field.cell().is_empty()).collect();
        self.empty(|place| is_empty[place] && !FIGURES.contains(&COLUMNS[place].name));
    }

    fn empty(&mut self, which: impl Fn(usize) -> bool) {
        for (_, field) in self.fields_mut().into_iter().enumerate().filter(|(place, _)| which(*place)) {
            field.read("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rows_share_is_kept() {
        let row = |host: &str, case_id: &str, seed: u64| Record {
            run_id: "r1".to_owned(),
            host: host.to_owned(),
            case_id: case_id.to_owned(),
            seed: Some(seed),
            value: Some(1.0),
            ..Record::new()
        };
        let mut common = row("a", "c1", 1).of_run();
        assert_eq!(common, Record { run_id: "r1".to_owned(), host: "a".to_owned(), seed: Some(1), ..Record::new() });
        common.keep_common(&row("a", "c2", 1).of_run());
        assert_eq!((common.host.as_str(), common.seed), ("a", Some(1)));
        common.keep_common(&row("b", "c2", 2).of_run());
        assert_eq!(common, Record { run_id: "r1".to_owned(), ..Record::new() });
        common.keep_common(&row("a", "c2", 1).of_run());
        assert_eq!(common.host, "", "what differed once stays empty");
    }

    #[test]
    fn the_columns_of_runs_are_columns() {
        assert!(OF_RUNS.iter().all(|name| COLUMNS.iter().any(|column| column.name == *name)));
    }
}
