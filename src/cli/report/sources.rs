//! Whose rows stand side by side: those of each device, by each driver, on each side.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::analysis::compare::Sides;
use crate::analysis::fleet::Fleet;
use crate::analysis::{FileRows, Purpose, RowSet, input_name};
use crate::cli::card::notes;
use crate::digest::hash64;
use crate::error::Error;
use crate::model::Shown;
use crate::record::{Packed, Record};
use crate::report::Source;

/// The most rows that are read for a page: twice what a browser shows without complaint. More are refused before memory is spent on them.
const MOST_ROWS: u64 = 200_000;

/// A file, and the name of its side if it has one.
type Named = (Option<String>, PathBuf);

const TOO_MANY: &str = "these files have more than {} rows, which no page can show: name files of fewer, such as those of one experiment or \
                        of one device";

struct Joined {
    name: Option<String>,
    files: Vec<String>,
    rows: RowSet,
}

/// The rows of files, a source for each device with its driver, and what to know of the files. Files are joined, such as those of shards
/// and of several families, unless one is another run of what is there already. Of several runs of a named side the median one is shown.
/// Where sides are to be compared as well, these take every row as it is read, as the fleet does: a stream is there once.
/// Errors: a file that can't be read, or isn't one of rows; none that has any row, or more than a page can show; and rows that `compared` refuses.
pub fn sources(
    files: &[Named],
    mut compared: Option<&mut Sides>,
    fleet: &mut Fleet,
) -> Result<(Vec<Source>, Vec<String>), Error> {
    let purposes: &[Purpose] = if compared.is_some() { &[Purpose::Report, Purpose::Comparison] } else { &[Purpose::Report] };
    let (mut joined, mut count) = (Vec::<Joined>::new(), 0);
    for (file, (name, path)) in files.iter().enumerate() {
        let file = FileRows::read(path, purposes, &mut |record, line| {
            count += 1;
            if count > MOST_ROWS {
                return Err(Error::Usage(TOO_MANY.replace("{}", &MOST_ROWS.to_string())));
            }
            fleet.take(record, machine(record), Vec::new());
            compared.as_mut().map_or(Ok(()), |sides| sides.take(file, record, line))
        })?;
        let place = joined.iter().position(|one| one.name == *name && !one.rows.is_another_run(&file));
        let place = place.unwrap_or_else(|| {
            joined.push(Joined { name: name.clone(), files: Vec::new(), rows: RowSet::default() });
            joined.len() - 1
        });
        joined[place].files.push(input_name(path));
        joined[place].rows.take(file);
    }
    let (mut joined, replicated) = median_runs(joined);
    let notes = joined.iter().flat_map(|one| notes(&one.rows)).chain(replicated).collect();
    let mut found: Vec<(usize, OfDevice)> = Vec::new();
    for (place, one) in joined.iter_mut().enumerate() {
        let rows = std::mem::take(&mut one.rows);
        found.extend(by_device(rows)?.into_iter().map(|own| (place, own)));
    }
    if found.is_empty() {
        return Err(Error::Usage("there is no row in these files: nothing to show".to_owned()));
    }
    let firsts: Vec<(usize, &Record)> = found.iter().map(|(place, own)| (*place, &own.first)).collect();
    let labels = labels(&joined, &firsts);
    let sources = found.into_iter().zip(labels).map(|((_, own), label)| Source { label, rows: own.rows });
    Ok((sources.collect(), notes))
}

/// What it was measured on, as `fleet` tells machines apart.
fn machine(record: &Record) -> &str {
    if record.host.is_empty() { &record.device_uuid } else { &record.host }
}

/// Of each named side the run that takes the median time, of two the faster; and which that is, to be said.
fn median_runs(joined: Vec<Joined>) -> (Vec<Joined>, Vec<String>) {
    let mut sides: Vec<Vec<Joined>> = Vec::new();
    for one in joined {
        match sides.iter_mut().find(|side| one.name.is_some() && side[0].name == one.name) {
            Some(side) => side.push(one),
            None => sides.push(vec![one]),
        }
    }
    let mut notes = Vec::new();
    let median = |mut runs: Vec<Joined>| {
        if runs.len() == 1 {
            return runs.remove(0);
        }
        let times: Vec<f64> = runs.iter().map(|run| run.rows.time_relative_to(&runs[0].rows)).collect();
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by(|one, two| times[*one].total_cmp(&times[*two]));
        let run = runs.swap_remove(order[(order.len() - 1) / 2]);
        let (name, count, files) = (run.name.as_deref().unwrap_or_default(), order.len(), run.files.join(" and "));
        let which = if count == 2 { "the faster one" } else { "the one of median time" };
        notes.push(format!("{name} has {count} runs. The figures show {which}, {files}; a comparison takes all of them"));
        run
    };
    let shown = sides.into_iter().map(median).collect();
    (shown, notes)
}

/// The rows of a device, and the cases that they are of.
struct OfDevice {
    first: Record,
    /// Their hashes: a sweep has as many cases as rows.
    cases: HashSet<[u64; 3]>,
    rows: Vec<Packed>,
}

/// Rows with their relations renewed, device by device. A device that was paired with itself comes twice.
fn by_device(rows: RowSet) -> Result<Vec<OfDevice>, Error> {
    let mut devices: Vec<OfDevice> = Vec::new();
    rows.each_renewed(&mut |row| {
        let case = [&row.experiment, &row.variant, &row.case_id].map(|word| hash64(word));
        // Devices come one after the other: what it has already is of its other turn.
        let known = devices.iter().rposition(|own| is_of_one_device(&own.first, &row) && !own.cases.contains(&case));
        let place = known.unwrap_or_else(|| {
            devices.push(OfDevice { first: row.clone(), cases: HashSet::new(), rows: Vec::new() });
            devices.len() - 1
        });
        devices[place].cases.insert(case);
        devices[place].rows.push(Packed::new(&row));
        Ok::<_, Error>(true)
    })?;
    Ok(devices)
}

fn is_of_one_device(one: &Record, other: &Record) -> bool {
    one.device_uuid == other.device_uuid && one.driver_uuid == other.driver_uuid && one.driver_info == other.driver_info
}

/// A name for each source that no other has, by its first row: of its side, else of its device; then what tells those of one name apart,
/// of the device, its driver, its UUID and its files; then a number.
fn labels(joined: &[Joined], found: &[(usize, &Record)]) -> Vec<String> {
    type Found<'r> = (usize, &'r Record);
    let stem = |file: &String| Path::new(file).file_stem().map(|stem| Path::new(stem).shown());
    let of_files = |(place, _): &Found| joined[*place].files.iter().filter_map(stem).collect::<Vec<_>>().join("+");
    let parts: [&dyn Fn(&Found) -> String; 4] = [
        &|(_, first)| first.device_name.clone(),
        &|(_, first)| first.driver_info.clone(),
        &|(_, first)| first.device_uuid.chars().take(8).collect(),
        &of_files,
    ];
    let name = |one: &Found| joined[one.0].name.clone().unwrap_or_else(|| parts[0](one));
    let mut labels: Vec<String> = found.iter().map(name).collect();
    for part in parts {
        let mut told: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (label, one) in labels.iter().zip(found) {
            told.entry(label).or_default().insert(part(one));
        }
        let longer = |(label, one): (&String, &Found)| match told[label.as_str()].len() {
            1 => label.clone(),
            _ => format!("{label}, {}", part(one)),
        };
        labels = labels.iter().zip(found).map(longer).collect();
    }
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let numbered = |label| {
        let number = numbers.entry(label).or_default();
        *number += 1;
        if *number > 1 { format!("{label} ({number})") } else { label.to_owned() }
    };
    labels.iter().map(String::as_str).map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart_by_as_little_as_does_it() {
        let of = |name: Option<&str>, file: &str| Joined {
            name: name.map(str::to_owned),
            files: vec![file.to_owned()],
            rows: RowSet::default(),
        };
        let first = |device: &str, driver: &str, uuid: &str| {
            let text = str::to_owned;
            Record { device_name: text(device), driver_info: text(driver), device_uuid: text(uuid), ..Record::default() }
        };
        let joined = [of(None, "runs/a.csv"), of(None, "runs/b.csv"), of(Some("after"), "c.csv")];
        let found = [
            (0, &first("one", "1.0", "0123456789")),
            (1, &first("one", "1.0", "0123456789")),
            (0, &first("one", "2.0", "0123456789")),
            (0, &first("one", "2.0", "abcdefabcd")),
            (0, &first("two", "", "")),
            (2, &first("one", "1.0", "0123456789")),
            (2, &first("two", "1.0", "0123456789")),
        ];
        assert_eq!(
            labels(&joined, &found),
            ["one, 1.0, a", "one, 1.0, b", "one, 2.0, 01234567", "one, 2.0, abcdefab", "two", "after, one", "after, two"]
        );
        let alike = [(0, &first("one", "1.0", "0")), (0, &first("one", "1.0", "0"))];
        assert_eq!(labels(&joined, &alike), ["one", "one (2)"]);
    }
}
