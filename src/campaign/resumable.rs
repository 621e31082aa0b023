//! Which rows of an earlier run are a run's own: measured on the same devices by the same plan, with the same sources.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;

use super::assembled::{CaseResult, Described};
use crate::analysis::listed;
use crate::digest;
use crate::model::{Case, DeviceInfo, Kernel, Status};
use crate::plan::{Plan, Planned};
use crate::record::{Completeness, Header, Reader, Record, SCHEMA_VERSION, Use, needed};
use crate::shader::{CompileError, Compiler, Library, ModuleKey};

pub struct RowPlacer<'r> {
    devices: Vec<&'r DeviceInfo>,
    plans: &'r [Plan<'r>],
    /// What the new rows of each device begin with.
    templates: &'r [Record],
    is_paired: bool,
    compiler: Compiler,
    hashes: HashMap<ModuleKey, Option<String>>,
}

/// What a row of an earlier run is to one that goes on from it.
pub enum Placed {
    /// It stays: the device that it is of, and its case.
    Kept(usize, Box<Planned>),
    /// Its case is measured again.
    Again,
    /// Its case has a row already.
    Twice,
}

impl<'r> RowPlacer<'r> {
    /// For a run of these plans on these devices, whose new rows begin with these templates.
    pub fn new(
        devices: Vec<&'r DeviceInfo>,
        plans: &'r [Plan<'r>],
        templates: &'r [Record],
        is_paired: bool,
    ) -> Result<Self, CompileError> {
        let compiler = Compiler::new(Library::embedded())?;
        Ok(Self { devices, plans, templates, is_paired, compiler, hashes: HashMap::new() })
    }

    /// What a row of an earlier run is to this one. `is_kept` tells of a device and a place in its plan whether that has a row already.
    /// Errors: why the row isn't one of this run.
    pub fn place(&mut self, row: &Record, is_kept: impl Fn(usize, u64) -> bool) -> Result<Placed, String> {
        check_version(row)?;
        let is_it = |info: &&DeviceInfo| info.device_uuid.to_string() == row.device_uuid;
        let place = row.plan_index.unwrap_or(u64::MAX);
        // One device may have several drivers.
        let of_driver = self.devices.iter().position(|info| is_it(info) && info.driver.uuid.to_string() == row.driver_uuid);
        let Some(device) = of_driver.or_else(|| self.devices.iter().position(is_it)) else {
            return Err(format!(
                "it holds rows of {} ({}), which this run doesn't measure on",
                row.device_name, row.device_uuid
            ));
        };
        if !self.is_paired && !row.pair_base.is_empty() {
            return Err("it was measured in pairs: give --paired and the same devices, or a new file".to_owned());
        }
        check_identity(row, &self.templates[device])?;
        let planned = self.plans[device].get(place).filter(|planned| planned.case_id == row.case_id);
        let Some(planned) = planned.filter(|_| row.plan_id == self.plans[device].id()) else {
            return Err(
                "it was measured by another plan: give the same filters, axes, --cases, preset and seed, or a new file"
                    .to_owned(),
            );
        };
        let info = self.devices[device];
        let expected = Record::assembled(&self.templates[device], &Described::planned(&planned), info, CaseResult::Planned);
        check_sound(row, &expected)?;
        Ok(match is_kept(device, place) {
            true => Placed::Twice,
            false if Completeness::from_row(row) == Completeness::Finished && self.is_current(row, &planned) => {
                Placed::Kept(device, Box::new(planned))
            }
            false => Placed::Again,
        })
    }

    pub fn plan(&self, device: usize) -> &Plan<'r> {
        &self.plans[device]
    }

    fn is_current(&mut self, row: &Record, planned: &Planned) -> bool {
        match &planned.case {
            Ok(case) if row.status != Status::Skipped.as_str() => self.source_hash(case) == Some(row.source_hash.clone()),
            Ok(_) => true,
            Err(skip) => row.reason == skip.reason,
        }
    }

    /// The hash of a case's kernels; an empty one for a case without kernels, none for one that doesn't compile.
    fn source_hash(&mut self, case: &Case) -> Option<String> {
        let hashes: Option<Vec<String>> = case.kernels.iter().map(|kernel| self.module_hash(kernel)).collect();
        Some(digest::joint(hashes?.iter().map(String::as_str)))
    }

    fn module_hash(&mut self, kernel: &Kernel) -> Option<String> {
        let Kernel { source, macros, target, .. } = kernel;
        let subject = ModuleKey { path: source.to_string(), macros: macros.clone(), target: *target };
        let compiler = &mut self.compiler;
        let hash = self.hashes.entry(subject).or_insert_with(|| {
            let module = compiler.compile(source, macros, *target);
            module.ok().map(|module| module.source_hash.clone())
        });
        hash.clone()
    }
}

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
