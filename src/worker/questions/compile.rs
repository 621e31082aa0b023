//! What a driver makes of a user's shader, asked in a process of its own: a compiler may crash on it, or never end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Question, QuestionState};
use crate::measure::Mock;
use crate::model::{Failure, PipelineDetail, PipelineStatistics, Status};
use crate::shader::{Module, Specialized, specialize_entry};
use crate::worker::host::{Host, Identity};

/// Which pipeline is to be made. Its module comes as words: so every driver is given the very same, whatever becomes of the user's
/// files. Nothing is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compile {
    pub device: Identity,
    pub words: Vec<u32>,
    pub entry: String,
    /// The bits of specialization constants, by `constant_id`; the others have their defaults.
    pub values: Vec<(u32, u64)>,
    pub subgroups: Subgroups,
    pub detail: PipelineDetail,
}

/// What is required of the driver's subgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subgroups {
    pub size: Option<u32>,
    pub are_full: bool,
}

impl Question for Compile {
    type Answer = Option<PipelineStatistics>;

    fn answer(self, host: &Host, _: &mut QuestionState) -> Result<Option<PipelineStatistics>, Failure> {
        let (device, detail) = (host.device(&self.device)?, self.detail);
        let specialized = self.specialized()?;
        match host {
            Host::Mock(_) => Ok((detail > PipelineDetail::None).then(|| Mock::statistics(detail))),
            Host::Vulkan(instance) => {
                let told = instance.kernel_statistics(device.index, &specialized, detail);
                told.map_err(|error| Failure::new(error.status(), error.to_string()))
            }
        }
    }

    #[cfg(test)]
    fn example() -> (Self, Option<PipelineStatistics>) {
        use crate::model::StatValue::{Boolean, Real, Signed, Unsigned};
        let device = Identity::at_place(&crate::model::DeviceInfo::mock(), 1);
        let (words, values, detail) = (vec![0, u32::MAX], vec![(1, u64::MAX)], PipelineDetail::Code);
        let mut told = Mock::statistics(detail);
        // A number that is neither negative nor that large arrives as one with a sign.
        let numbers = [Boolean(true), Signed(i64::MIN), Unsigned(u64::MAX), Real(1.0 / 3.0)];
        told.executables[0].statistics = numbers.map(|number| ("a driver's \"name\"".to_owned(), number)).into();
        let subgroups = Subgroups { size: Some(32), are_full: true };
        (Self { device, words, entry: "main".into(), values, subgroups, detail }, Some(told))
    }
}

impl Compile {
    fn specialized(self) -> Result<Specialized, Failure> {
        let failed = |words: String| Failure::new(Status::Error, words);
        let module = Module::of_spirv(self.words, Some(&self.entry)).map_err(|error| failed(error.to_string()))?;
        let module = Arc::new(module);
        let entry = module.reflection.entry_points.first().ok_or_else(|| failed("the entry point is gone".to_owned()))?;
        let values = self.values.iter().copied().collect();
        let specialized = specialize_entry(&module, entry, &values).map_err(|error| failed(error.to_string()))?;
        let Subgroups { size: required_subgroup_size, are_full: full_subgroups } = self.subgroups;
        Ok(Specialized { required_subgroup_size, full_subgroups, ..specialized })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_is_said() {
        let (question, _) = Compile::example();
        let failure = question.specialized().unwrap_err();
        assert!(failure.status == Status::Error && failure.reason.contains("header"), "{failure:?}");
    }
}
