//! What is told of a row: its figure, in numbers and in words.

use super::sweep::{Key, Row};
use crate::model::Status;
use crate::output::in_a_line;
use crate::record::Record;
use crate::units::figure_and_noise;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure<'r> {
    pub metric: &'r str,
    pub unit: &'r str,
    /// Which value is the better one: `higher`, `lower` or nothing.
    pub better: &'r str,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

/// The figure of a row that has one: its headline, else its time.
pub fn figure(record: &Record) -> Option<Figure<'_>> {
    if record.status != Status::Ok.as_str() {
        return None;
    }
    match (record.value, record.time_ns) {
        (Some(value), _) => Some(Figure {
            metric: &record.metric,
            unit: &record.unit,
            better: &record.better,
            value,
            interval: record.value_ci_low.zip(record.value_ci_high),
        }),
        (None, Some(value)) => {
            let interval = record.ci_low_ns.zip(record.ci_high_ns);
            Some(Figure { metric: "time", unit: "ns", better: "lower", value, interval })
        }
        (None, None) => None,
    }
}

impl Figure<'_> {
    /// In words, with half its interval, or by its ends.
    pub fn words(&self) -> String {
        figure_and_noise(self.value, self.interval, self.unit)
    }
}

pub fn is_doubted(record: &Record) -> bool {
    !record.quality_flags.is_empty()
}

/// What is told of a row where somebody points at it: what it is, its figure, and what is to be said against it.
pub fn tip(row: &Row, keys: &[Key]) -> String {
    let record = row.record;
    let parts = keys.iter().map(|key| key.words(&key.of(row))).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join(", ");
    let figure = figure(record).map_or_else(|| record.status.replace('_', " "), |figure| figure.words());
    let flags = record.quality_flags.replace(';', ", ");
    tip_of([name, figure, flags, record.reason.clone()])
}

/// Lines of a tip: each stays one, whatever names it holds.
pub fn tip_of(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| in_a_line(&line)).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
