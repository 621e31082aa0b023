//! What a case follows from.

use super::grid::{fold_groups, product, workgroups};
use crate::experiments::Setting;
use crate::model::{DeviceInfo, Feature, Kernel, Point, Scalar, Skip, SubgroupClass};

/// One configuration of an experiment: all that its case and its twin follow from.
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// The variant's name; empty where the experiment has only one.
    pub variant: &'a str,
    pub point: &'a Point,
    pub setting: Setting<'a>,
}

impl<'a> Config<'a> {
    pub fn new(variant: &'a str, point: &'a Point, setting: &Setting<'a>) -> Self {
        Self { variant, point, setting: *setting }
    }

    pub fn integer(&self, axis: &str) -> u64 {
        self.point.integer(axis)
    }

    /// The number on an axis, at most `u32::MAX`, as [`Point::u32`] explains.
    pub fn u32(&self, axis: &str) -> u32 {
        self.point.u32(axis)
    }

    pub fn choice(&self, axis: &str) -> &'a str {
        self.point.choice(axis)
    }

    pub fn device(&self) -> &'a DeviceInfo {
        self.setting.device
    }

    pub fn seed(&self) -> u64 {
        self.setting.seed
    }

    /// Skips what the device can't do: the first of these features that it lacks.
    pub fn require(&self, features: &[Feature]) -> Result<(), Skip> {
        let lacks = features.iter().find(|feature| !self.device().has(**feature));
        lacks.map_or(Ok(()), |feature| Err(Skip::new(format!("{} is missing: the case needs it", feature.vulkan_name()))))
    }

    /// The same of the classes of subgroup operations in compute shaders.
    pub fn require_classes(&self, classes: &[SubgroupClass]) -> Result<(), Skip> {
        let subgroup = &self.device().subgroup;
        if !subgroup.in_compute {
            return Err(Skip::new(
                "supportedStages of subgroup operations lacks VK_SHADER_STAGE_COMPUTE_BIT: the case needs it",
            ));
        }
        let lacks = classes.iter().find(|class| !subgroup.classes.contains(class));
        lacks.map_or(Ok(()), |class| {
            Err(Skip::new(format!("supportedOperations lacks {}: the case needs it", class.vulkan_name())))
        })
    }

    pub fn workgroup(&self) -> [u32; 3] {
        [self.u32("local_size_x"), 1, 1]
    }

    /// A kernel with workgroups of the axis `local_size_x`, and constants of the values of these axes, which the shader calls as they
    /// are called, in capitals.
    pub fn kernel(&self, source: &'static str, axes: &[&str]) -> Kernel {
        let constant = |kernel: Kernel, axis: &&str| kernel.constant(&axis.to_uppercase(), Scalar::U32(self.u32(axis)));
        axes.iter().fold(Kernel::new(source, self.workgroup()), constant)
    }

    /// The grid of so many workgroups of the axis `local_size_x`, at least, and how many invocations it has. Numbers beyond 64 bits
    /// saturate: the plan skips such a case by a limit.
    pub fn grid(&self, count: u64) -> ([u32; 3], u64) {
        let groups = fold_groups(count, self.most_groups());
        let local_size = self.integer("local_size_x");
        (groups, product([local_size, workgroups(groups)]))
    }

    /// The place of the choice on an axis among all its choices: the number that shaders know it by.
    pub fn code(&self, axis: &str, choices: &[&str]) -> u32 {
        (0..).zip(choices).find(|(_, choice)| **choice == self.choice(axis)).map_or(0, |(code, _)| code)
    }

    pub fn most_groups(&self) -> u32 {
        self.device().limits.workgroup_count[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{mock_with, quick};

    #[test]
    fn what_is_missing_is_named_as_vulkan_does() {
        let mut device = mock_with(&[Feature::Int64], &[SubgroupClass::Basic]);
        let reason = |device: &DeviceInfo, features: &[Feature], classes: &[SubgroupClass]| {
            let point = Point::default();
            let config = Config::new("", &point, &quick(device));
            config.require(features).and_then(|()| config.require_classes(classes)).err().map(|skip| skip.reason)
        };
        let classes = [SubgroupClass::Basic, SubgroupClass::Vote];
        assert_eq!(reason(&device, &[Feature::Int64], &classes[..1]), None);
        let missing = reason(&device, &[Feature::Int64, Feature::BFloat16], &classes);
        assert_eq!(missing.as_deref(), Some("shaderBFloat16Type is missing: the case needs it"));
        assert!(reason(&device, &[], &classes).unwrap().contains("lacks VK_SUBGROUP_FEATURE_VOTE_BIT"));
        device.subgroup.in_compute = false;
        assert!(reason(&device, &[], &[]).unwrap().contains("VK_SHADER_STAGE_COMPUTE_BIT"));
    }
}
