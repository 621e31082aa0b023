//! What a row of an earlier run must have in common with those of one that goes on from it.

use std::collections::BTreeSet;
use std::io::Read;

use crate::analysis::listed;
use crate::record::{Header, Reader, Record, SCHEMA_VERSION, Use, needed};

/// Errors: a row of another version of the schema.
pub fn check_version(row: &Record) -> Result<(), String> {
    if row.schema == SCHEMA_VERSION {
        return Ok(());
    }
    Err(format!("it is of schema {}, and this lanescope writes {SCHEMA_VERSION}: name a new file", row.schema))
}

/// Errors: a row of another driver, processor or setting than the new rows of its device, which begin with this template.
pub fn check_identity(row: &Record, template: &Record) -> Result<(), String> {
    let differs = differences(&identity(template), &identity(row));
    if differs.is_empty() {
        return Ok(());
    }
    Err(format!("it was measured on another driver or otherwise: {}", differs.join(", ")))
}

/// Errors: a row that no run wrote: in what it differs from its case's before anything is measured, or contradicts itself.
pub fn check_sound(row: &Record, expected: &Record) -> Result<(), String> {
    let flaw = row.departure(expected).or_else(|| row.flaw());
    flaw.map_or(Ok(()), |(column, why)| {
        Err(format!("column `{column}`: {why}; no run wrote this row: mend it, or take it out"))
    })
}

/// What a run needs to go on from a file.
const NEEDED: [Use; 3] = [Use::Rows, Use::Plan, Use::Resuming];

/// The columns that it needs, and a file with this header doesn't have.
pub fn lacking(header: &Header) -> Vec<&'static str> {
    let there: BTreeSet<&str> = header.names().collect();
    needed(&NEEDED).into_iter().filter(|name| !there.contains(name)).collect()
}

/// Demands that a file to be resumed has the columns that its new rows have, and those that resuming needs.
pub fn check_columns<R: Read>(rows: &Reader<R>, header: &Header) -> Result<(), String> {
    if rows.is_of_v1() {
        return Err(format!(
            "it is of schema 1, and this lanescope writes {SCHEMA_VERSION}: `lanescope merge --partial` turns it into {SCHEMA_VERSION}"
        ));
    }
    let missing = rows.missing(&needed(&NEEDED));
    if !missing.is_empty() {
        return Err(format!(
            "it lacks {}, without which it can't be resumed (see --columns): name a new file",
            listed(missing)
        ));
    }
    check_same_columns(rows, header)
}

/// Demands that a file has the columns that new rows have.
pub fn check_same_columns<R: Read>(rows: &Reader<R>, header: &Header) -> Result<(), String> {
    let (there, wanted): (BTreeSet<&str>, BTreeSet<&str>) = (rows.columns().collect(), header.names().collect());
    let own: Vec<&str> = there.difference(&wanted).copied().collect();
    if !own.is_empty() {
        return Err(format!(
            "this run doesn't write {}: take it out, since new rows would have nothing there, or name a new file",
            listed(own)
        ));
    }
    let missing: Vec<&str> = wanted.difference(&there).copied().collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("it lacks {}: put it back, or name a new file", listed(missing))) }
}

/// What must be alike for figures to be of one run.
pub fn identity(row: &Record) -> Vec<(&'static str, String)> {
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let word = |is_on: Option<bool>| is_on.map_or_else(String::new, |is_on| is_on.to_string());
    let [cpu_name, host] = row.processor().map(str::to_owned);
    vec![
        ("cpu_name", cpu_name),
        ("host", host),
        ("device_name", row.device_name.clone()),
        ("driver_uuid", row.driver_uuid.clone()),
        ("driver_id", row.driver_id.clone()),
        ("driver_info", row.driver_info.clone()),
        ("driver_version", row.driver_version.clone()),
        ("queue_family", number(row.queue_family)),
        ("validation", word(row.validation)),
        ("robustness", word(row.robustness)),
    ]
}

/// In which of these a run differs from an earlier one, in words that begin with the name.
pub fn differences<N>(now: &[(&str, String)], then: &[(N, String)]) -> Vec<String> {
    // Columns that may be left out, by --columns or --anonymous.
    let is_left_out = |name: &str, value: &str| ["cpu_name", "host"].contains(&name) && value.is_empty();
    let differ = |((name, now), (_, then)): &(&(&str, String), &(N, String))| {
        now != then && !is_left_out(name, now) && !is_left_out(name, then)
    };
    let pairs = now.iter().zip(then).filter(differ);
    pairs.map(|((name, now), (_, then))| format!("{name} was `{then}` and is `{now}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_another_processor_differ() {
        let row = |kind: &str, cpu: &str, host: &str| Record {
            device_type: kind.to_owned(),
            cpu_name: cpu.to_owned(),
            host: host.to_owned(),
            ..Record::default()
        };
        let differing = |now: Record, then: Record| differences(&identity(&now), &identity(&then));
        let said = differing(row("cpu", "EPYC", "b"), row("cpu", "Xeon", "a"));
        assert_eq!(said, ["cpu_name was `Xeon` and is `EPYC`", "host was `a` and is `b`"]);
        // A GPU has a UUID of its own, and what was left out may be the same.
        assert!(differing(row("discrete", "EPYC", "b"), row("discrete", "Xeon", "a")).is_empty());
        assert!(differing(row("cpu", "EPYC", ""), row("cpu", "EPYC", "a")).is_empty());
    }
}
