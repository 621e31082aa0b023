//! What one device makes of a shader, as data and for people.

use serde::Serialize;
use serde_json::{Map, Value};

use super::facts::Facts;
use super::sizes;
use crate::model::{FilePath, Shown, Status, Uuid};
use crate::output::{Page, Tone, in_a_line, paragraph};
use crate::record::statistics_object;
use crate::shader::{Lack, Needs, WorkgroupFit};

#[derive(Debug, Serialize)]
pub(super) struct DevicePart {
    pub(super) index: usize,
    pub(super) name: String,
    /// The driver's description of its build, or its name.
    pub(super) driver: String,
    pub(super) driver_id: String,
    pub(super) device_uuid: Uuid,
    pub(super) driver_uuid: Uuid,
    pub(super) unusable: Option<String>,
    #[serde(flatten)]
    pub(super) needs: Needs,
    pub(super) workgroup: WorkgroupFit,
    /// `ok` where a pipeline was made, `skipped` where the device lacks something or a limit is in the way; else how it failed.
    pub(super) status: Status,
    pub(super) reason: String,
    pub(super) registers: Option<u64>,
    pub(super) spill_bytes: Option<u64>,
    /// Of Workgroup memory, as the module declares it.
    pub(super) shared_bytes: u64,
    pub(super) code_bytes: Option<u64>,
    /// What the driver made; nothing where it tells nothing.
    pub(super) executables: Option<Vec<ExecutableFacts>>,
    /// The file of its code, where that was asked for and the driver shows any.
    pub(super) isa: Option<FilePath>,
    #[serde(skip)]
    pub(super) is_code_asked: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ExecutableFacts {
    pub(super) name: String,
    pub(super) subgroup_size: u32,
    pub(super) statistics: Map<String, Value>,
}

impl ExecutableFacts {
    pub(super) fn of(executable: &crate::model::Executable) -> Self {
        let (name, subgroup_size) = (executable.name.clone(), executable.subgroup_size);
        Self { name, subgroup_size, statistics: statistics_object(executable) }
    }
}

impl DevicePart {
    pub(super) fn has_failed(&self) -> bool {
        self.status.is_failure()
    }
}

// ---- for people -----------------------------------------------------------------------------------------------------------

impl DevicePart {
    pub(super) fn text(&self, page: Page) -> String {
        let mut facts = Facts::new();
        if let Some(reason) = &self.unusable {
            facts.say_toned(Tone::Doubtful, "runs nothing", reason);
        }
        for Lack { need, missing, .. } in &self.needs.lacking {
            facts.say_toned(Tone::Doubtful, "lacks", &format!("{missing}, for {need}"));
        }
        if !self.needs.unknown.is_empty() {
            let why = "Lanescope doesn't know whether the device has what they need";
            facts.say_toned(Tone::Doubtful, "unknown", &format!("{}: {why}", self.needs.unknown.join(", ")));
        }
        sizes::say(&mut facts, &self.workgroup);
        self.say_compiled(&mut facts);
        let heading = paragraph(&in_a_line(&format!("device {}: {} ({})", self.index, self.name, self.driver)), page);
        format!("\n{heading}{}", facts.shown(page))
    }

    fn say_compiled(&self, facts: &mut Facts) {
        match (self.status, &self.executables) {
            (Status::Ok, None) => {
                facts.say("compiled", "its driver reports nothing about it (VK_KHR_pipeline_executable_properties is missing)");
            }
            (Status::Ok, Some(_)) => facts.say("compiled", "by its driver, which reports on it below"),
            (Status::Skipped, _) => facts.say_toned(Tone::Quiet, "not compiled", &self.reason),
            (status, _) => facts.say_toned(Tone::Bad, "FAILED", &format!("{status}: {}", self.reason)),
        }
        match &self.isa {
            Some(path) => facts.say("code", &path.shown()),
            None if self.is_code_asked && self.status == Status::Ok => facts.say("code", "its driver shows none"),
            None => {}
        }
    }
}
