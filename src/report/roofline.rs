//! The roofline: what kernels reach beside what the device allows.

use super::chart::{Body, Chart, Datum, Line, Roof, Roofline, Scale, Ticks};
use super::charts::Picture;
use super::figures::{figure, is_doubted, tip, tip_of};
use super::layout::MOST_SERIES;
use super::sweep::{Key, Row};
use crate::record::Record;
use crate::units::{rate, ratio};

/// Where peaks are derived.
pub const PEAKS: &str = "peak/summary";

/// The least kernels that are a picture.
const LEAST_KERNELS: usize = 3;

/// The most kernels that are points: more are a cloud, and a page that nobody can load.
const MOST_KERNELS: usize = 2000;

/// The kernels of a source that count their operations and their bytes, and what bounds them, row by row.
#[derive(Default)]
pub struct Kernels {
    /// By experiment, in the order in which these first come.
    lines: Vec<Line>,
    roofs: Vec<Roof>,
}

impl Kernels {
    pub fn take(&mut self, row: &Row) {
        self.roofs.extend(roof(row.record));
        let Some(point) = point(row).filter(|_| !row.record.is_derived()) else { return };
        match self.lines.iter_mut().find(|line| line.name == row.record.experiment) {
            Some(line) => line.points.push(point),
            None => self.lines.push(Line { name: row.record.experiment.clone(), points: vec![point] }),
        }
    }

    /// Their roofline; nothing where there are none.
    pub fn roofline(self, source: usize, label: &str) -> Option<Picture> {
        let Self { lines: mut kernels, roofs } = self;
        let all: usize = kernels.iter().map(|line| line.points.len()).sum();
        if all > MOST_KERNELS {
            for line in &mut kernels {
                line.points.sort_by(|one, other| other.y.total_cmp(&one.y));
                line.points.truncate((MOST_KERNELS * line.points.len() / all).max(1));
            }
        }
        if kernels.len() > MOST_SERIES {
            let points = kernels.split_off(MOST_SERIES - 1).into_iter().flat_map(|line| line.points).collect();
            kernels.push(Line { name: "others".to_owned(), points });
        }
        // Fewer are said by their rows.
        if all < LEAST_KERNELS || roofs.is_empty() {
            return None;
        }
        let roofline = Roofline {
            x: Scale { label: "operations for each byte, FLOP/B".to_owned(), is_log: true, ticks: Ticks::Plain },
            y: Scale { label: "floating-point rate, GFLOP/s".to_owned(), is_log: true, ticks: Ticks::Plain },
            roofs,
            kernels,
        };
        let of_all = if all > MOST_KERNELS { format!(", the fastest of {all} kernels") } else { String::new() };
        let chart = Chart { title: format!("Roofline: {label}{of_all}"), body: Body::Roofline(roofline) };
        Some(Picture { chart, sources: [source].into(), conclusion: None })
    }
}

#[expect(clippy::cast_precision_loss, reason = "it becomes a place in a picture")]
fn point(row: &Row) -> Option<Datum> {
    let record = row.record;
    figure(record)?;
    let (flops, bytes) = (record.flops_per_pass.filter(|flops| *flops > 0)?, record.bytes_per_pass.filter(|bytes| *bytes > 0)?);
    let (x, time) = (flops as f64 / bytes as f64, record.time_ns.filter(|time| *time > 0.0)?);
    let y = flops as f64 / time;
    let interval = record.ci_low_ns.zip(record.ci_high_ns).filter(|(low, _)| *low > 0.0);
    let axes = record.by_axis.keys().map(|axis| Key::Axis(axis.clone()));
    let keys: Vec<Key> = std::iter::once(Key::Variant).chain(axes).collect();
    let place = format!("{} at {} FLOP/B", rate(y, None, "GFLOP/s"), ratio(x, None));
    Some(Datum {
        x,
        y,
        interval: interval.map(|(low, high)| (flops as f64 / high, flops as f64 / low)),
        is_doubted: is_doubted(record),
        tip: format!("{}\n{}", tip_of([record.experiment.clone(), place]), tip(row, &keys)),
    })
}

/// What a row of the derived peaks bounds.
fn roof(record: &Record) -> Option<Roof> {
    let value = record.value.filter(|value| record.experiment == PEAKS && *value > 0.0)?;
    let name = format!("{}, {}", record.variant, rate(value, None, &record.unit));
    let is_known = ["GB/s", "GFLOP/s"].contains(&record.unit.as_str());
    is_known.then(|| Roof { name, is_memory: record.unit == "GB/s", rate: value })
}
