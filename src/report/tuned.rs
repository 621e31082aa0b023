//! What a search says of a shader: the answer, and the times over the two axes that matter most.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use super::chart::{Better, Body, Chart, Grid, GridCell, Scale, Ticks};
use super::charts::{Picture, grid_cell, is_wide, scale_of};
use super::figures::figure;
use super::sweep::{Key, Row};
use crate::measure::Stop;
use crate::model::{AxisValue, Failure, Point, Status};
use crate::output::{Page, answer_text};
use crate::record::Record;
use crate::stats::Interval;
use crate::tuning::answer::{Answer, Timing, Trial};
use crate::tuning::space::{Dimension, Space};

/// What the names of tuned shaders begin with.
const FAMILY: &str = "tune/";

/// How wide the answer may be.
const WIDTH: u16 = 110;

/// Whether an experiment is a shader that was tuned.
pub fn is_tuned(experiment: &str) -> bool {
    experiment.starts_with(FAMILY)
}

/// What follows from a search's rows on one device.
pub struct Tuned {
    /// The answer in words.
    pub answer: String,
    /// The times over two axes, of the best configuration of each cell; nothing where there is one axis.
    pub picture: Option<Picture>,
}

/// What follows from rows of one source that were tuned; nothing where none has a time.
pub fn tuned(rows: &[Row]) -> Option<Tuned> {
    let rows: Vec<Row> = rows.iter().filter(|row| !row.record.is_derived()).copied().collect();
    let axes = varied(&rows);
    let trials: Vec<Trial> = rows.iter().filter_map(|row| trial(row.record, &axes)).collect();
    let space = space(&trials)?;
    let answer = Answer::new(&space, &trials, None)?;
    let page = Page { width: WIDTH, ..Page::FILE };
    Some(Tuned { answer: answer_text(&answer, page), picture: picture(&rows, &answer) })
}

/// The axes that were searched: those with more than one value.
fn varied(rows: &[Row]) -> BTreeSet<String> {
    let mut values: BTreeMap<&String, BTreeSet<&AxisValue>> = BTreeMap::new();
    for (axis, value) in rows.iter().flat_map(|row| &row.record.by_axis) {
        values.entry(axis).or_default().insert(value);
    }
    values.into_iter().filter(|(_, values)| values.len() > 1).map(|(axis, _)| axis.clone()).collect()
}

fn trial(record: &Record, axes: &BTreeSet<String>) -> Option<Trial> {
    let searched = record.by_axis.iter().filter(|(name, _)| axes.contains(*name));
    let point = Point::new(searched.map(|(name, value)| (name.clone().into(), value.clone())));
    let outcome = match Status::named(&record.status)? {
        Status::Ok => {
            let time = record.time_ns?;
            let (low, high) = record.ci_low_ns.zip(record.ci_high_ns).unwrap_or((time, time));
            let is_rough = Stop::ALL.iter().any(|stop| stop.is_early() && stop.as_str() == record.stop);
            Ok(if is_rough { Timing::rough } else { Timing::precise }(time, Interval { low, high }))
        }
        Status::Skipped | Status::Planned | Status::NotRun => return None,
        status => Err(Failure::new(status, record.reason.clone())),
    };
    Some(Trial { point, outcome })
}

/// The configurations that rows tell of.
fn space(trials: &[Trial]) -> Option<Space> {
    let mut values: BTreeMap<&str, Vec<AxisValue>> = BTreeMap::new();
    for (axis, value) in trials.iter().flat_map(|trial| trial.point.iter()) {
        values.entry(axis).or_default().push(value.clone());
    }
    let axes = values.into_iter().map(|(axis, values)| Dimension::new(axis.to_owned(), values));
    let known: BTreeSet<&Point> = trials.iter().map(|trial| &trial.point).collect();
    Space::new(axes, |point| Ok::<_, Infallible>(known.contains(point))).ok()
}

/// The axes of a picture: the workgroup's, where both were searched, else those that matter most.
fn axes(answer: &Answer) -> Option<[String; 2]> {
    let mut varied: Vec<_> = answer.axes.iter().filter(|axis| axis.others > 0).collect();
    let sizes = ["local_size_x", "local_size_y"];
    if sizes.iter().all(|size| varied.iter().any(|axis| axis.axis == *size)) {
        return Some(sizes.map(str::to_owned));
    }
    varied.sort_by(|one, other| other.share.unwrap_or(0.0).total_cmp(&one.share.unwrap_or(0.0)));
    match varied.as_slice() {
        [first, second, ..] => Some([first.axis.clone(), second.axis.clone()]),
        _ => None,
    }
}

fn picture(rows: &[Row], answer: &Answer) -> Option<Picture> {
    let [columns, down] = axes(answer)?.map(Key::Axis);
    let mut best: BTreeMap<(AxisValue, AxisValue), Row> = BTreeMap::new();
    let time = |row: &Row| figure(row.record).and(row.record.time_ns).unwrap_or(f64::INFINITY);
    for row in rows {
        let cell = best.entry((down.of(row), columns.of(row))).or_insert(*row);
        if time(row) < time(cell) {
            *cell = *row;
        }
    }
    let [across, below]: [BTreeSet<AxisValue>; 2] =
        [best.keys().map(|(_, column)| column.clone()).collect(), best.keys().map(|(row, _)| row.clone()).collect()];
    let (unit, label) = scale_of(rows);
    let first = rows.first()?;
    let keys: Vec<Key> = first.record.by_axis.keys().map(|axis| Key::Axis(axis.clone())).collect();
    let cell = |at: (AxisValue, AxisValue)| best.get(&at).map_or(GridCell::Empty, |row| grid_cell(row, &keys, unit));
    let figures = || best.values().filter_map(|row| figure(row.record));
    let grid = Grid {
        column_label: columns.title(),
        columns: across.iter().map(|value| columns.value_words(value)).collect(),
        row_label: down.title(),
        rows: below.iter().map(|value| down.value_words(value)).collect(),
        scale: Scale { label, is_log: is_wide(figures().map(|figure| figure.value)), ticks: Ticks::Plain },
        better: if figures().any(|figure| figure.better == "higher") { Better::Higher } else { Better::Lower },
        cells: below.iter().map(|row| across.iter().map(|column| cell((row.clone(), column.clone()))).collect()).collect(),
    };
    let of_others = if answer.axes.iter().filter(|axis| axis.others > 0).count() > 2 {
        ": in each cell the fastest of all values of the other axes"
    } else {
        ""
    };
    let chart = Chart { title: format!("{}{of_others}", first.record.experiment), body: Body::Grid(grid) };
    Some(Picture { chart, sources: [first.source].into() })
}
