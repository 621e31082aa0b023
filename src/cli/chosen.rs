//! What rows of `algo/adaptive` found, as a tuning table: the fastest workgroup of each algorithm, problem size, device and driver.

use std::collections::BTreeMap;
use std::path::Path;

use crate::analysis::RowSet;
use crate::error::Error;
use crate::model::{AxisValue, Cache, Shown};
use crate::record::{Completeness, Record};
use crate::tuning::{DeviceId, DriverId, KernelId, Table, TableEntry, save_table};

const EXPERIMENT: &str = "algo/adaptive";

/// What rows found, to be added to a tuning table.
/// Errors: rows that tell nothing of it.
pub fn entries(rows: &RowSet, path: &Path) -> Result<Vec<TableEntry>, Error> {
    let mut best: BTreeMap<[String; 4], TableEntry> = BTreeMap::new();
    for record in rows.records() {
        let Some(entry) = entry(&record) else { continue };
        let key = [record.device_uuid, record.driver_uuid, record.variant, format!("{:?}", entry.size)];
        if best.get(&key).is_none_or(|known| entry.time_ns < known.time_ns) {
            best.insert(key, entry);
        }
    }
    if best.is_empty() {
        let message = format!(
            "{}: the files have no row of {EXPERIMENT} to take into a tuning table, with a time and what identifies its device: \
             measure some by `lanescope run {EXPERIMENT} -o rows.csv`",
            path.shown()
        );
        return Err(Error::Usage(message));
    }
    Ok(best.into_values().collect())
}

/// Adds them to a tuning table, and gives their number.
/// Errors: a table that can't be read or written.
pub fn save(entries: Vec<TableEntry>, path: &Path) -> anyhow::Result<usize> {
    let count = entries.len();
    let mut table = Table::default();
    entries.into_iter().for_each(|entry| drop(table.insert(entry)));
    save_table(&mut table, path)?;
    Ok(count)
}

/// What a row tells; nothing where it is of something else, was broken off, has no time to be trusted, or lacks columns.
fn entry(row: &Record) -> Option<TableEntry> {
    let is_told = row.experiment == EXPERIMENT
        && !row.is_derived()
        && Completeness::from_row(row) == Completeness::Finished
        && row.cache == Cache::Warm.as_str()
        && !row.is_implausible();
    let axis = |name: &str| match row.by_axis.get(name) {
        Some(AxisValue::Integer(number)) => Some(*number),
        _ => None,
    };
    let sides = ["local_size_x", "local_size_y"].map(|name| axis(name).map(|size| (name.to_owned(), size.into())));
    let [Some(width), Some(height)] = sides else { return None };
    let id = |id: Option<u64>| u32::try_from(id?).ok();
    is_told.then_some(TableEntry {
        kernel: KernelId { name: format!("{EXPERIMENT}:{}", row.variant), hash: row.source_hash.clone() },
        device: DeviceId {
            name: row.device_name.clone(),
            vendor_id: id(row.vendor_id)?,
            device_id: id(row.device_id)?,
            uuid: row.device_uuid.parse().ok()?,
        },
        driver: DriverId { id: row.driver_id.clone(), name: row.driver_name.clone(), info: row.driver_info.clone() },
        size: BTreeMap::from([("n".to_owned(), axis("n")?)]),
        configuration: BTreeMap::from([width, height]),
        time_ns: row.time_ns?,
        ci_low_ns: row.ci_low_ns.or(row.time_ns)?,
        ci_high_ns: row.ci_high_ns.or(row.time_ns)?,
        when: humantime::parse_rfc3339(&row.written_at).ok()?,
        tool_version: row.tool_version.clone(),
    })
}
