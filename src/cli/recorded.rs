//! Which cases a command records, and by which model of the hardware.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::args::described::Described;
use super::args::recorded::{LaneChoice, RecordedCase};
use super::described::kernel;
use super::tune;
use crate::analysis::limits::Limits;
use crate::analysis::{Purpose, RowSet, read_rows};
use crate::campaign::trace::Order;
use crate::error::Error;
use crate::experiments::{self, Setting};
use crate::measure::CaseKey;
use crate::model::{Cache, DeviceInfo, Failure, Point, Preset, Shown, Status};
use crate::plan::{Plan, Request};
use crate::regular::{self, Kind};
use crate::subject::{KernelSpec, LOCAL_SIZE_AXES, UserKernel};
use crate::trace::hardware::{Hardware, Measured};
use crate::trace::requests::Lanes;

/// Fewer lanes than any GPU has: software's subgroups.
const SMALL: u32 = 16;
/// As many as most GPUs have.
const USUAL: u32 = 32;

const MODEL: Kind = Kind { what: "a model of hardware", largest: 1 << 20, may_stream: false };

/// The user's model, or the vendor's with what rows say of this device.
///
/// Errors: a model that can't be read; and rows that say nothing of the device's memory, where they must.
pub fn hardware(model: Option<&Path>, rows: &[PathBuf], device: &DeviceInfo, must: bool) -> Result<Hardware, Error> {
    if let Some(path) = model {
        let usage = |words: String| Error::Usage(format!("--model {}: {words}", path.shown()));
        let text = regular::read_text(path, MODEL).map_err(|error| usage(error.to_string()))?;
        return Hardware::parse(&text).map_err(|error| usage(error.to_string()));
    }
    let vendors = Hardware::of_vendor(device.vendor_id, device.subgroup.size);
    if rows.is_empty() {
        return Ok(vendors);
    }
    let mut set = RowSet::default();
    rows.iter().try_for_each(|path| set.read(path, Purpose::Card))?;
    let (mut measured, mut count) = (Measured::default(), 0);
    set.each_renewed::<Error>(&mut |row| {
        let is_own = row.device_name == device.name;
        if is_own && matches!(row.experiment.as_str(), "cache/granules" | "shared/banks") {
            count += 1;
            measured.take(&row.experiment, &row.variant, row.value);
        }
        Ok(true)
    })?;
    if count == 0 && must {
        let (name, advice) = (&device.name, "lanescope run cache/line shared/bank_conflict -o FILE measures them");
        return Err(Error::Usage(format!("--rows: there are no rows of cache/granules or shared/banks for {name}: {advice}")));
    }
    Ok(vendors.measured(&measured))
}

/// What the device does at most, out of rows that were measured on it; nothing is known without rows.
pub fn limits(rows: &[PathBuf], device: &DeviceInfo) -> Result<Limits, Error> {
    let mut limits = Limits::default();
    for path in rows {
        read_rows(path, &[Purpose::Card], &mut |row, _| {
            if row.device_name == device.name {
                limits.take(row);
            }
            Ok(())
        })?;
    }
    if !rows.is_empty() && limits.is_empty() {
        let advice = "lanescope run --preset model -o FILE measures them";
        return Err(Error::Usage(format!("--rows: no row tells a limit of {}: {advice}", device.name)));
    }
    Ok(limits)
}

/// What is to be recorded: one case, or where it is to be `check`ed the first one of each variant that is meant.
pub fn orders(typed: &RecordedCase, hardware: &Hardware, device: &DeviceInfo, check: bool) -> Result<Vec<Order>, Error> {
    let own = if device.subgroup.size < SMALL { Lanes::InRow(USUAL) } else { Lanes::OfDevice };
    let lanes = match typed.lanes {
        None => own,
        Some(LaneChoice::Device) => Lanes::OfDevice,
        Some(LaneChoice::InRow(count)) => Lanes::InRow(count),
    };
    let cases = match catalogued(typed, device, check)? {
        Some(keys) => keys.into_iter().map(|key| (key, None)).collect(),
        None => {
            let subject = KernelSpec { is_traced: true, ..kernel(&typed.described, typed.seed)? };
            let mut own = UserKernel::new(subject, device.clone());
            let point = tune::point(&typed.axis, &typed.described.constant, &mut own)?;
            check_size(&point, &mut own)?;
            let key = CaseKey { experiment: own.name(), variant: String::new(), point, cache: Cache::Warm };
            vec![(key, Some(own.subject().clone()))]
        }
    };
    let order = |(key, subject)| {
        let (groups, hardware) = (typed.workgroups.clone(), hardware.clone());
        Order { key, subject, groups, lanes, hardware, check, explains: true, tries: None }
    };
    Ok(cases.into_iter().map(order).collect())
}

/// A workgroup of one invocation is meant by nobody whose shader leaves its size open.
fn check_size(point: &Point, kernel: &mut UserKernel) -> Result<(), Error> {
    let is_given = LOCAL_SIZE_AXES.iter().any(|axis| point.get(axis).is_some());
    if !is_given && kernel.leaves_its_size_open().unwrap_or(false) {
        let words = "the shader leaves its workgroup size open, and has one invocation as it is written: give a size, such as \
                     -a local_size_x=64";
        return Err(Error::Usage(words.to_owned()));
    }
    Ok(())
}

/// A flag that describes a shader, and would do nothing for a case of the catalogue.
fn of_shader(typed: &Described) -> Option<&'static str> {
    let lists = [
        ("--constant", &typed.constant),
        ("--shared", &typed.shared),
        ("--define", &typed.define),
        ("--buffer", &typed.buffer),
        ("--image", &typed.image),
        ("--sampler", &typed.sampler),
        ("--push", &typed.push),
    ];
    let others = [
        ("--threads", typed.threads.is_some()),
        ("--groups", typed.groups.is_some()),
        ("--entry", typed.entry.is_some()),
        ("--preamble", typed.preamble.is_some()),
        ("--include", !typed.include.is_empty()),
    ];
    let lists = lists.into_iter().map(|(flag, list)| (flag, !list.is_empty()));
    lists.chain(others).find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
}

/// The cases of the catalogue that are meant: the first one that can run, or where they are to be checked that of each variant. Nothing
/// where a file is named.
fn catalogued(typed: &RecordedCase, device: &DeviceInfo, check: bool) -> Result<Option<Vec<CaseKey>>, Error> {
    let named = typed.described.shader.as_ref().and_then(|shader| shader.to_str());
    let experiment = |name: &str| {
        let is_glob = check && name.contains(['*', '?', '[', '{']);
        is_glob || experiments::find(name.split(':').next().unwrap_or_default()).is_some()
    };
    let Some(name) = named.filter(|name| experiment(name) && !Path::new(name).exists()) else { return Ok(None) };
    if let Some(flag) = of_shader(&typed.described) {
        return Err(Error::Usage(format!("{flag} describes a shader of yours, and {name} is a case of the catalogue")));
    }
    let setting = Setting { device, queue: typed.queue.of(device), preset: Preset::Quick, seed: typed.seed };
    let request = Request { filters: vec![name.to_owned()], axes: typed.axis.clone(), ..Request::default() };
    let plan = Plan::new(&request, setting)?;
    let key = |planned: crate::plan::Planned| {
        let (experiment, variant) = (planned.experiment.name().to_owned(), planned.variant.to_owned());
        CaseKey { experiment, variant, point: planned.point, cache: Cache::Warm }
    };
    let (mut refusal, mut found) = (None, BTreeMap::new());
    for planned in plan.iter() {
        match &planned.case {
            Ok(_) if !check => return Ok(Some(vec![key(planned)])),
            Ok(_) => drop(found.entry((planned.experiment.name(), planned.variant)).or_insert_with(|| key(planned))),
            Err(skip) => refusal = refusal.or_else(|| Some(skip.reason.clone())),
        }
    }
    if found.is_empty() {
        return Err(Error::Usage(format!("no case of {name} can run here: {}", refusal.unwrap_or_default())));
    }
    Ok(Some(found.into_values().collect()))
}

/// Why a case can't be recorded or measured.
pub fn refused(failure: Failure) -> anyhow::Error {
    match failure.status {
        Status::Error => anyhow::anyhow!("{}", failure.reason),
        status => anyhow::anyhow!("{status}: {}", failure.reason),
    }
}
