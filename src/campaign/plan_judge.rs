//! The cases of plans that have rows of an earlier run already.

use std::collections::HashSet;

use super::claim::Claim;
use super::earlier::{self, Verdict};
use super::resumable::{Placed, RowPlacer};
use crate::analysis::Relations;
use crate::error::Error;
use crate::model::DeviceInfo;
use crate::plan::{Plan, Planned};
use crate::record::Record;

/// Judges the rows of an earlier run by the plans, and keeps which cases they are of.
pub struct PlanJudge<'r> {
    devices: Vec<DeviceKept>,
    judge: RowPlacer<'r>,
}

/// What is there already of a device's cases.
#[derive(Default)]
pub struct DeviceKept {
    places: HashSet<u64>,
    relations: Relations,
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
        let judge = RowPlacer::new(devices, plans, &claim.templates, is_paired)?;
        let devices = plans.iter().map(|_| DeviceKept::default()).collect();
        Ok(Self { devices, judge })
    }

    pub fn devices(self) -> Vec<DeviceKept> {
        self.devices
    }
}

impl earlier::Judge for PlanJudge<'_> {
    fn judge(&mut self, mut row: Record) -> Result<Verdict, String> {
        if row.is_derived() {
            return Ok(Verdict::Taken(row));
        }
        let devices = &mut self.devices;
        let placed = self.judge.place(&row, |device, place| devices[device].places.contains(&place))?;
        let (device, planned) = match placed {
            Placed::Kept(device, planned) => (device, planned),
            Placed::Again => return Ok(Verdict::Again(row)),
            Placed::Twice => return Ok(Verdict::Dropped(row)),
        };
        let kept = &mut devices[device];
        kept.places.extend(planned.index);
        // What others will be held against; the row itself stays as it is.
        kept.relations.judge(&planned.work, &mut row.clone());
        kept.relations.keep(&row, planned.is_own_base());
        row.name_base(&planned, self.judge.plan(device));
        Ok(Verdict::Kept(row))
    }
}

impl DeviceKept {
    pub fn holds(&self, planned: &Planned) -> bool {
        planned.index.is_some_and(|index| self.places.contains(&index))
    }

    pub fn count(&self) -> u64 {
        self.places.len() as u64
    }

    /// What the rows say of others. Once.
    pub fn take_relations(&mut self) -> Relations {
        std::mem::take(&mut self.relations)
    }
}
