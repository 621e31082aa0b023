//! What people see of an experiment's rows: the few columns that matter, three or four digits, the reason where there is no figure.

use std::collections::BTreeSet;

use crate::model::Status;
use crate::record::{Cell, Record};
use crate::units::Nanos;

/// The rows of one experiment, for people.
pub(super) struct View {
    /// Axes that have one value in all rows, as `name=value`.
    pub constant: Vec<String>,
    /// What differs from row to row; no column is empty.
    pub columns: Vec<ViewColumn>,
}

/// A column and its cells, one per row.
pub(super) struct ViewColumn {
    /// Its title.
    pub title: String,
    /// Whether its cells are numbers, which align to the right.
    pub numeric: bool,
    /// Whether its cells are sentences, which may take several lines.
    pub wraps: bool,
    /// Its cells.
    pub cells: Vec<String>,
}

impl ViewColumn {
    fn new(title: impl Into<String>, numeric: bool, records: &[Record], cell: impl Fn(&Record) -> String) -> Self {
        Self { title: title.into(), numeric, wraps: false, cells: records.iter().map(cell).collect() }
    }
}

/// Selects and formats what people see of these rows.
pub(super) fn view(records: &[Record]) -> View {
    let mut constant = Vec::new();
    let mut columns = vec![ViewColumn::new("variant", false, records, |record| record.variant.clone())];
    let axes: BTreeSet<&String> = records.iter().flat_map(|record| record.by_axis.keys()).collect();
    for axis in axes {
        let column = axis_column(axis, records);
        match &column.cells[..] {
            [first, rest @ ..] if rest.iter().all(|cell| cell == first) => constant.push(format!("{axis}={first}")),
            _ => columns.push(column),
        }
    }
    if records.iter().any(|record| record.cache == "cold") {
        columns.push(ViewColumn::new("cache", false, records, |record| record.cache.clone()));
    }
    columns.push(ViewColumn::new("time", true, records, |record| record.time_ns.map_or_else(String::new, duration)));
    columns.push(ViewColumn::new("±", true, records, |record| record.noise.map_or_else(String::new, percent)));
    columns.extend(headline_columns(records));
    // A single row that is its own base says nothing.
    if records.iter().any(|record| !record.relative_to.is_empty() && record.relative_to != record.case_id) {
        columns
            .push(ViewColumn::new("relative", true, records, |record| record.relative.map_or_else(String::new, significant)));
    }
    columns.push(ViewColumn::new("time / base's", true, records, ratio));
    columns.push(ViewColumn { wraps: true, ..ViewColumn::new("notes", false, records, note) });
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    View { constant, columns }
}

fn axis_column(axis: &str, records: &[Record]) -> ViewColumn {
    let numeric =
        records.iter().filter_map(|record| record.by_axis.get(axis)).all(|value| value.to_string().parse::<u64>().is_ok());
    let cell = |record: &Record| record.by_axis.get(axis).map_or_else(String::new, ToString::to_string);
    ViewColumn::new(axis, numeric, records, cell)
}

/// The headline figures: under the metric's name where all rows have the same one, else with a column that names it.
fn headline_columns(records: &[Record]) -> Vec<ViewColumn> {
    let metrics: BTreeSet<&str> =
        records.iter().filter(|record| has_headline(record)).map(|record| record.metric.as_str()).collect();
    let named = metrics.len() == 1;
    let title = metrics.first().filter(|_| named).copied().unwrap_or("value");
    let values = ViewColumn::new(title, true, records, |record| headline(record).unwrap_or_default());
    let metric = |record: &Record| if has_headline(record) { record.metric.clone() } else { String::new() };
    if named { vec![values] } else { vec![ViewColumn::new("metric", false, records, metric), values] }
}

/// Whether the headline says more than the column `time` does.
fn has_headline(record: &Record) -> bool {
    record.value.is_some() && !(record.metric == "time" && record.time_ns.is_some())
}

fn headline(record: &Record) -> Option<String> {
    let value = record.value.filter(|_| has_headline(record))?;
    Some(match record.unit.as_str() {
        "ns" => duration(value),
        "" => significant(value),
        "ratio" => format!("{value:.4}"),
        unit => format!("{} {unit}", significant(value)),
    })
}

/// The ratio of a pair with its interval.
fn ratio(record: &Record) -> String {
    match (record.ratio, record.ratio_ci_low, record.ratio_ci_high) {
        (Some(ratio), Some(low), Some(high)) => format!("{ratio:.4} [{low:.4}, {high:.4}]"),
        (Some(ratio), ..) => format!("{ratio:.4}"),
        _ => String::new(),
    }
}

/// Why there is no figure, or what is to be said against it.
fn note(record: &Record) -> String {
    let flags = record.quality_flags.replace(';', ", ");
    if record.status == Status::Ok.as_str() && record.reason.is_empty() {
        return flags;
    }
    if record.status == Status::Ok.as_str() {
        return format!("{flags}: {}", Cell::text(&record.reason));
    }
    // As a cell, since a compiler's words come in several lines and Markdown's rows are one line each.
    let parts = [record.status.replace('_', " "), Cell::text(&record.reason).to_string(), flags];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

fn duration(ns: f64) -> String {
    Nanos(ns).to_string()
}

fn percent(ratio: f64) -> String {
    if ratio < 0.0005 { "<0.1 %".to_owned() } else { format!("{:.1} %", ratio * 100.0) }
}

/// Four significant digits; whole numbers whole.
fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if value.fract() == 0.0 && magnitude < 1e15 {
        return format!("{value}");
    }
    match magnitude {
        1e-3..1e0 => format!("{value:.4}"),
        1e0..1e1 => format!("{value:.3}"),
        1e1..1e2 => format!("{value:.2}"),
        1e2..1e3 => format!("{value:.1}"),
        1e3..1e15 => format!("{value:.0}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let cases =
            [(32.0, "32"), (1234.56, "1235"), (812.34, "812.3"), (1.00021, "1.000"), (0.01234, "0.0123"), (1e-9, "1.000e-9")];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
        assert_eq!((percent(0.0123), percent(0.000_01)), ("1.2 %".to_owned(), "<0.1 %".to_owned()));
    }

    #[test]
    fn a_note_says_why_there_is_no_figure() {
        let with = |status: &str, reason: &str, flags: &str| {
            note(&Record {
                status: status.to_owned(),
                reason: reason.to_owned(),
                quality_flags: flags.to_owned(),
                ..Record::new()
            })
        };
        assert_eq!(with("ok", "", "noisy;drift"), "noisy, drift");
        assert_eq!(with("planned", "", ""), "planned");
        assert_eq!(with("wrong_result", "out[0] is 1, should be 2", ""), "wrong result: out[0] is 1, should be 2");
        assert_eq!(with("compile_error", "a:3: error\na:4: error", ""), "compile error: a:3: error a:4: error");
    }
}
