//! Spaces out of the rows of files: what `lanescope` measured of every configuration.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

use anyhow::{Context, ensure};
use lanescope::model::{AxisValue, Point, Status};
use lanescope::record::{Reader, Record};
use lanescope::tuning::space::{Dimension, Space};

use super::Recorded;

/// The axes of a row, in the order of their names.
type Values = BTreeMap<String, AxisValue>;

/// The spaces of a file: one for each device, experiment, variant and state of the caches that has rows of more than one
/// configuration. Axes that have one value in all rows are no axes there.
pub fn read(path: &Path) -> anyhow::Result<Vec<Recorded>> {
    let mut groups: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for record in Reader::open(path)? {
        let record = record?;
        let Record { device_name, experiment, variant, cache, .. } = &record;
        let name = [device_name, experiment, variant, cache].map(String::as_str).into_iter().filter(|part| !part.is_empty());
        groups.entry(name.collect::<Vec<_>>().join(", ")).or_default().push(record);
    }
    let spaces = groups.into_iter().filter_map(|(name, records)| {
        let times = times(&records);
        (times.len() > 1).then(|| recorded(name.clone(), times).with_context(|| format!("{}: {name}", path.display())))
    });
    spaces.collect()
}

/// What each configuration took, or nothing where it failed. One that the device can't run is no configuration. Of rows of the
/// same configuration the last counts.
fn times(records: &[Record]) -> BTreeMap<Values, Option<f64>> {
    let is_measured = |record: &&Record| record.row_kind == "measured";
    let outcome = |record: &Record| match Status::named(&record.status)? {
        Status::Skipped | Status::Planned => None,
        Status::Ok => Some((record.by_axis.clone(), record.time_ns)),
        _ => Some((record.by_axis.clone(), None)),
    };
    records.iter().filter(is_measured).filter_map(outcome).collect()
}

fn recorded(name: String, times: BTreeMap<Values, Option<f64>>) -> anyhow::Result<Recorded> {
    let mut values: BTreeMap<&String, Vec<AxisValue>> = BTreeMap::new();
    for (axis, value) in times.keys().flatten() {
        let known = values.entry(axis).or_default();
        if !known.contains(value) {
            known.push(value.clone());
        }
    }
    ensure!(times.values().any(Option::is_some), "no row has a time");
    ensure!(times.keys().all(|own| own.len() == values.len()), "some rows have other axes than others");
    let varied = values.into_iter().filter(|(_, values)| values.len() > 1);
    let axes: Vec<Dimension> = varied.map(|(axis, values)| Dimension::new(axis.clone(), values)).collect();
    let of_axes: BTreeMap<Vec<AxisValue>, Option<f64>> = (times.into_iter())
        .map(|(values, time)| (axes.iter().map(|axis| values[axis.name.as_ref()].clone()).collect(), time))
        .collect();
    let key = |point: &Point| -> Vec<AxisValue> { point.iter().map(|(_, value)| value.clone()).collect() };
    let space = Space::new(axes, |point| Ok::<_, Infallible>(of_axes.contains_key(&key(point))))?;
    let times = (0..space.len()).map(|configuration| of_axes[&key(&space.point(configuration))]).collect();
    Ok(Recorded { name, space, times })
}
