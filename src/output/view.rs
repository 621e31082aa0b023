//! What people see of an experiment's rows: the few columns that matter, figures with the digits that their intervals allow, the
//! reason where there is no figure.

use std::collections::BTreeSet;

use super::text_table::{Cell, Column, Need, TextTable};
use super::tone::Tone;
use crate::analysis::Doubt;
use crate::model::Status;
use crate::record::{self, Record};
use crate::stats::Ratio;
use crate::units::{figure, is_wide, percent, ratio, ratio_between};

/// What a column shows of a row.
type Show<'r> = Box<dyn Fn(&Record) -> String + 'r>;
type Shown<'r> = (Column, Show<'r>);

/// What people see of the rows of one experiment: axes that have one value in all of them, as `name=value`, and what differs from row to
/// row, without empty columns. What most of them share isn't said in each of them.
pub fn row_table(records: &[Record], shared: &[&Doubt]) -> (Vec<String>, TextTable) {
    let (constant, axes) = axes(records);
    let mut columns: Vec<Shown> = vec![(Column::words("variant", Need::Key), Box::new(|record| record.variant.clone()))];
    columns.extend(axes);
    if records.iter().any(|record| record.cache == "cold") {
        columns.push((Column::words("cache", Need::Central), Box::new(|record| record.cache.clone())));
    }
    columns.extend(figures(records));
    columns.extend(calls());
    // Why there is no figure is needed as much as one.
    let need = if records.iter().all(|record| record.status == Status::Ok.as_str()) { Need::Central } else { Need::Key };
    columns.push((Column::words("notes", need), Box::new(|record| note(record, shared))));
    let (columns, shown): (Vec<Column>, Vec<Show>) = columns.into_iter().unzip();
    let notes = shown.len() - 1;
    let mut table = TextTable::new(columns);
    for record in records {
        let cells = shown.iter().enumerate();
        table.row(cells.map(|(place, show)| {
            let (text, is_note) = (show(record), place == notes);
            // What a compiler says has lines.
            let cell = if is_note { Cell::of_lines(&text) } else { Cell::from(text) };
            cell.toned(tone(record, is_note))
        }));
    }
    (constant, table.without_empty_columns())
}

/// What was skipped is dim; what failed and what is to be doubted shows where it says so.
fn tone(record: &Record, is_note: bool) -> Tone {
    match Status::named(&record.status) {
        Some(Status::Skipped) => Tone::Quiet,
        Some(status) if status.is_failure() && is_note => Tone::Bad,
        Some(Status::Ok) if is_note => Tone::Doubtful,
        _ => Tone::Plain,
    }
}

/// The axes that have one value in all rows, and the columns of the others.
fn axes(records: &[Record]) -> (Vec<String>, Vec<Shown<'_>>) {
    let value = |record: &Record, axis: &str| record.by_axis.get(axis).map_or_else(String::new, ToString::to_string);
    let (mut constant, mut columns) = (Vec::new(), Vec::<Shown>::new());
    for axis in records.iter().flat_map(|record| record.by_axis.keys()).collect::<BTreeSet<_>>() {
        let values: BTreeSet<String> = records.iter().map(|record| value(record, axis)).collect();
        if let (Some(only), 1) = (values.first(), values.len()) {
            constant.push(format!("{axis}={only}"));
            continue;
        }
        // Where each variant has one value, the variant tells the rows apart already.
        let pairs: BTreeSet<(&str, String)> =
            records.iter().map(|record| (record.variant.as_str(), value(record, axis))).collect();
        let variants: BTreeSet<&str> = pairs.iter().map(|(variant, _)| *variant).collect();
        let need = if pairs.len() == variants.len() { Need::Useful } else { Need::Central };
        let column = Column::of_values(axis, need, values.into_iter());
        columns.push((column, Box::new(move |record| value(record, axis))));
    }
    (constant, columns)
}

/// The time, and what the experiment is about.
fn figures(records: &[Record]) -> Vec<Shown<'_>> {
    let metrics: BTreeSet<&str> =
        records.iter().filter(|record| has_headline(record)).map(|record| record.metric.as_str()).collect();
    // It follows from a rate and the work.
    let need = if metrics.is_empty() { Need::Key } else { Need::Spare };
    let mut columns: Vec<Shown> = vec![
        (
            Column::numbers("time", need),
            Box::new(|record| record.time_ns.map_or_else(String::new, |ns| figure(ns, record.time_ends(), "ns"))),
        ),
        (Column::numbers("±", Need::Useful), Box::new(noise)),
    ];
    // Under the metric's name where all rows have the same one, else beside a column that names it.
    let is_one = metrics.len() == 1;
    if !is_one {
        let metric = |record: &Record| if has_headline(record) { record.metric.clone() } else { String::new() };
        columns.push((Column::words("metric", Need::Useful), Box::new(metric)));
    }
    let title = metrics.first().filter(|_| is_one).copied().unwrap_or("value");
    columns.push((Column::numbers(title, Need::Key), Box::new(|record| headline(record).unwrap_or_default())));
    // A single row that is its own base says nothing.
    if records.iter().any(|record| !record.relative_to.is_empty() && record.relative_to != record.case_id) {
        columns.push((Column::numbers("relative", Need::Spare), Box::new(relative)));
    }
    columns.push((Column::numbers("time / base's", Need::Key), Box::new(pair)));
    columns
}

/// What is told of an application's kernels alone.
fn calls() -> [Shown<'static>; 3] {
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    [
        (Column::numbers("calls", Need::Central), Box::new(move |record| number(record.calls))),
        (
            Column::numbers("all calls", Need::Useful),
            Box::new(|record| record.calls_time_ns.map_or_else(String::new, |ns| figure(ns, None, "ns"))),
        ),
        (Column::numbers("share", Need::Key), Box::new(|record| record.share.map_or_else(String::new, percent))),
    ]
}

/// Whether the headline says more than the column `time` does.
fn has_headline(record: &Record) -> bool {
    record.value.is_some() && !(record.metric == "time" && record.time_ns.is_some())
}

fn headline(record: &Record) -> Option<String> {
    let value = record.value.filter(|_| has_headline(record))?;
    Some(figure(value, record.value_ends(), &record.unit))
}

/// Half the interval over the figure, where the interval doesn't stand in its place.
fn noise(record: &Record) -> String {
    let is_shown = record.time_ns.zip(record.time_ends()).is_none_or(|(time, ends)| !is_wide(time, ends));
    record.noise.filter(|_| is_shown).map_or_else(String::new, percent)
}

/// What the base's interval adds isn't in the row: it has no more digits than its own allows. A base is 1 for sure.
fn relative(record: &Record) -> String {
    match record.relative {
        Some(_) if record.relative_to == record.case_id => "1".to_owned(),
        Some(relative) => {
            let ends = record.noise.map(|noise| (relative * (1.0 - noise), relative * (1.0 + noise)));
            figure(relative, ends, "ratio")
        }
        None => String::new(),
    }
}

/// The ratio of a pair with its interval.
fn pair(record: &Record) -> String {
    match (record.ratio, record.ratio_ci_low, record.ratio_ci_high) {
        (Some(value), Some(low), Some(high)) => ratio_between(Ratio { value, low, high }),
        (Some(value), ..) => ratio(value, None),
        _ => String::new(),
    }
}

/// Why there is no figure, or what is to be said against it alone.
fn note(record: &Record, shared: &[&Doubt]) -> String {
    let is_shared = |flag: &str| shared.iter().any(|doubt| doubt.flag.name() == flag);
    let flags: Vec<&str> = record.quality_flags.split(';').filter(|flag| !is_shared(flag)).collect();
    let flags = flags.join(", ");
    // As a cell, since a compiler's words come in several lines and Markdown's rows are one line each.
    let reason = record::Cell::text(&record.reason).to_string();
    let status = if record.status == Status::Ok.as_str() { String::new() } else { record.status.replace('_', " ") };
    let parts = if status.is_empty() { [flags, reason, status] } else { [status, reason, flags] };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::DOUBTS;
    use crate::model::Flag;

    #[test]
    fn a_note_says_why_there_is_no_figure() {
        let with = |status: &str, reason: &str, flags: &str| {
            let record = Record {
                status: status.to_owned(),
                reason: reason.to_owned(),
                quality_flags: flags.to_owned(),
                ..Record::new()
            };
            let noisy = DOUBTS.iter().filter(|doubt| doubt.flag == Flag::Noisy).collect::<Vec<_>>();
            (note(&record, &[]), note(&record, &noisy))
        };
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(with("ok", "", "noisy;drift"), ("noisy, drift".to_owned(), "drift".to_owned()));
        assert_eq!(with("ok", "it can't be", "implausible"), both("implausible: it can't be"));
        assert_eq!(with("planned", "", ""), both("planned"));
        assert_eq!(with("wrong_result", "out[0] is 1, should be 2", ""), both("wrong result: out[0] is 1, should be 2"));
        assert_eq!(with("compile_error", "a:3: error\na:4: error", ""), both("compile error: a:3: error a:4: error"));
    }

    #[test]
    fn a_relative_figure_has_the_digits_that_its_own_interval_allows() {
        let of = |base: &str, value, noise| {
            let relative_to = base.to_owned();
            relative(&Record {
                case_id: "c1".to_owned(),
                relative_to,
                relative: Some(value),
                noise: Some(noise),
                ..Record::new()
            })
        };
        assert_eq!([of("c0", 0.9903, 0.115), of("c0", 1.9148, 0.0005), of("c1", 1.0, 0.05)], ["0.88 to 1.1", "1.915", "1"]);
    }
}
