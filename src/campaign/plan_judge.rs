//! The cases of plans that have rows of an earlier run already.

use std::collections::{HashMap, HashSet};

use super::assembled::{CaseResult, Described};
use super::claim::Claim;
use super::earlier::{self, Verdict};
use super::resumable::{check_identity, check_sound, check_version};
use crate::analysis::Relations;
use crate::digest;
use crate::error::Error;
use crate::model::{Case, DeviceInfo, Kernel, Status};
use crate::plan::{Plan, Planned};
use crate::record::{Completeness, Record};
use crate::shader::{Compiler, Library, ModuleKey};

/// Judges the rows of an earlier run by the plans, and keeps which cases they are of: those that were measured on the same devices by the
/// same plan, with the same sources.
pub struct PlanJudge<'r> {
    kept: Vec<DeviceKept>,
    devices: Vec<&'r DeviceInfo>,
    plans: &'r [Plan<'r>],
    /// What the new rows of each device begin with.
    templates: &'r [Record],
    is_paired: bool,
    compiler: Compiler,
    hashes: HashMap<ModuleKey, Option<String>>,
}

/// What is there already of a device's cases.
#[derive(Default)]
pub struct DeviceKept {
    pub places: HashSet<u64>,
    /// What the rows say of others.
    pub relations: Relations,
}

impl<'r> PlanJudge<'r> {
    /// Errors: a device that is paired with itself: its rows can't be told apart.
    pub fn new(claim: &'r Claim, plans: &'r [Plan<'r>], is_paired: bool) -> anyhow::Result<Self> {
        let settings = &claim.campaign.settings;
        let devices: Vec<&DeviceInfo> = claim.campaign.targets.devices().collect();
        let is_twin = |(i, device): (usize, &&DeviceInfo)| devices[..i].iter().any(|other| other.index == device.index);
        if settings.files.resume.is_some() && devices.iter().enumerate().any(is_twin) {
            let message = "--resume can't distinguish the rows of a device that is paired with itself: measure anew";
            return Err(Error::Usage(message.to_owned()).into());
        }
        let kept = plans.iter().map(|_| DeviceKept::default()).collect();
        let (templates, compiler) = (&claim.templates, Compiler::new(Library::embedded())?);
        Ok(Self { kept, devices, plans, templates, is_paired, compiler, hashes: HashMap::new() })
    }

    pub fn devices(self) -> Vec<DeviceKept> {
        self.kept
    }

    /// The device that a row is of.
    fn device(&self, row: &Record) -> Result<usize, String> {
        let is_it = |info: &&DeviceInfo| info.device_uuid.to_string() == row.device_uuid;
        // One device may have several drivers.
        let of_driver = self.devices.iter().position(|info| is_it(info) && info.driver.uuid.to_string() == row.driver_uuid);
        of_driver.or_else(|| self.devices.iter().position(is_it)).ok_or_else(|| {
            let Record { device_name, device_uuid, .. } = row;
            format!("it holds rows of {device_name} ({device_uuid}), which this run doesn't measure on")
        })
    }

    /// The case that a row of a device is of.
    fn planned(&self, device: usize, row: &Record) -> Result<Planned, String> {
        let (plan, template) = (&self.plans[device], &self.templates[device]);
        if !self.is_paired && !row.pair_base.is_empty() {
            return Err("it was measured in pairs: give --paired and the same devices, or a new file".to_owned());
        }
        check_identity(row, template)?;
        let planned = plan.get(row.plan_index.unwrap_or(u64::MAX)).filter(|planned| planned.case_id == row.case_id);
        let planned = planned.filter(|_| row.plan_id == plan.id()).ok_or_else(|| {
            "it was measured by another plan: give the same filters, axes, --cases, preset and seed, or a new file".to_owned()
        })?;
        let described = Described::planned(&planned);
        check_sound(row, &Record::assembled(template, &described, self.devices[device], CaseResult::Planned))?;
        Ok(planned)
    }

    fn is_current(&mut self, row: &Record, planned: &Planned, plan_id: &str) -> bool {
        match &planned.case {
            // A kernel of the user's and what it works on are in the plan's id.
            Ok(_) if !planned.experiment.fingerprint.is_empty() => row.plan_id == plan_id,
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

    fn module_hash(&mut self, Kernel { source, macros, target, .. }: &Kernel) -> Option<String> {
        let key = ModuleKey { path: source.to_string(), macros: macros.clone(), target: *target, has_lines: false };
        let compiler = &mut self.compiler;
        let compiled = || Some(compiler.compile(source, macros, *target).ok()?.source_hash.clone());
        self.hashes.entry(key).or_insert_with(compiled).clone()
    }
}

impl earlier::Judge for PlanJudge<'_> {
    fn judge(&mut self, mut row: Record) -> Result<Verdict, String> {
        if row.is_derived() {
            return Ok(Verdict::Taken(row));
        }
        check_version(&row)?;
        let device = self.device(&row)?;
        let planned = self.planned(device, &row)?;
        if self.kept[device].holds(&planned) {
            return Ok(Verdict::Dropped(row));
        }
        if Completeness::from_row(&row) != Completeness::Finished || !self.is_current(&row, &planned, self.plans[device].id()) {
            return Ok(Verdict::Again(row));
        }
        let kept = &mut self.kept[device];
        kept.places.extend(planned.index);
        // What others will be held against; the row itself stays as it is.
        kept.relations.judge(&planned.work, &mut row.clone());
        kept.relations.keep(&row, planned.is_own_base());
        row.name_base(&planned, &self.plans[device]);
        Ok(Verdict::Kept(row))
    }
}

impl DeviceKept {
    pub fn holds(&self, planned: &Planned) -> bool {
        planned.index.is_some_and(|index| self.places.contains(&index))
    }
}
